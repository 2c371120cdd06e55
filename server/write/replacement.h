// A replacement is a collection of a branch that is written aside, and then replaces the former one at once.
//
//   shop@dev                  shop@tmp.agg_out.3f9a…
//     orders  (as it was)       orders  (new documents)        written as any branch is
//     orders  <───────────────  takes them over, and the branch is dropped: one transaction
//
// Other clients see the second branch while it lasts; a crash may leave it behind until the next start, or the next primary.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "versions/database/databases.h"

namespace server {
class OperationContext;
}

namespace server::write {

class Replacement {
 public:
  // Returns whether `ns` is in a database with branches. Throws IllegalOperation for a place that can't be written to, and
  // NamespaceNotFound for one that doesn't exist.
  static bool applies(OperationContext& op, const std::string& ns);

  // `options` are used if no branch has the collection. Throws NamespaceExists if other branches have it with other options.
  Replacement(OperationContext& op, const std::string& ns, const storage::CollectionOptions& options = {});
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // The namespace to which the caller writes its documents.
  const std::string& ns() const { return ns_; }
  const std::shared_ptr<storage::Collection>& collection() const { return collection_; }
  // The caller holds the collection's schema lock exclusively. `also` runs in the same transaction.
  using Also = std::function<void(storage::Transaction&, const versions::Branch&)>;
  void finish(const Also& also = {});

 private:
  void take_back() noexcept;

  OperationContext& op_;
  const std::shared_ptr<versions::BranchedDatabase> database_;
  std::string branch_;  // the branch whose collection is replaced
  std::string aside_;   // the branch that it is written on; empty: it is gone
  std::string ns_;
  std::shared_ptr<storage::Collection> collection_;
};

// Renames a collection of a branch by a copy; meanwhile nobody else writes or reads it. Indexes are copied too. Throws as
// Catalog::rename does.
void rename_on_branch(OperationContext& op, const std::string& from, const std::string& to, bool drop_target);

}  // namespace server::write
