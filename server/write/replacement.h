// A collection of a branch that is written aside, and then shown instead of what was there, all at once.
//
//   shop@dev                  shop@tmp.agg_out.3f9a…
//     orders  (as it was)       orders  (new documents)        written as any branch is
//     orders  <───────────────  takes them over, and the branch is gone: one transaction
//
// Others see the branch while it lasts; what a crash leaves of it goes at the next start, or with the next primary.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/write/target.h"
#include "versions/database/databases.h"

namespace server {
class OperationContext;
}

namespace server::write {

class Replacement {
 public:
  // Whether `ns` is in a database with branches. Throws IllegalOperation for a place that can't be written to, NamespaceNotFound
  // for one that isn't there.
  static bool applies(OperationContext& op, const std::string& ns);

  // `options`: where no branch has such a collection. Throws NamespaceExists where others have it with others.
  Replacement(OperationContext& op, const std::string& ns, const storage::CollectionOptions& options = {});
  ~Replacement();
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // Where its documents are to be written.
  const std::string& ns() const { return ns_; }
  const std::shared_ptr<storage::Collection>& collection() const { return collection_; }
  // The caller holds the collection's schema lock, alone. `also`: within the same transaction.
  using Also = std::function<void(storage::Transaction&, const versions::Branch&)>;
  void finish(const Also& also = {});

 private:
  void take_back() noexcept;

  OperationContext& op_;
  const std::shared_ptr<versions::BranchedDatabase> database_;
  std::string branch_;  // that it is for
  std::string aside_;   // that it is written on; empty: gone
  std::string ns_;
  std::shared_ptr<storage::Collection> collection_;
};

// A collection of a branch under another name there: a copy, for as long as which nobody else writes to it or reads it. Indexes
// come along. Throws as Catalog::rename.
void rename_on_branch(OperationContext& op, const std::string& from, const std::string& to, bool drop_target);

// What starts so is not finished yet: collections and branches.
inline constexpr std::string_view unfinished_prefix = "tmp.agg_out.";
std::string unfinished_name();

}  // namespace server::write
