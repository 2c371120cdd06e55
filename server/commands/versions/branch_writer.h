// A BranchWriter changes documents of a branch all at once, in collections of any number. The changes aren't committed.
//
// The caller is alone with the database as long as it lives (storage::Catalog::alone).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "server/write/document_writer.h"
#include "server/write/target.h"
#include "versions/database/databases.h"

namespace server {

class OperationContext;

class BranchWriter {
 public:
  BranchWriter(OperationContext& op, versions::BranchedDatabase& database, std::string branch);

  // Throws NamespaceNotFound.
  write::Target target(storage::CollectionId collection) const;
  // Makes these collections on the branch, which doesn't have them, and runs `work` in one transaction. If that fails nothing is
  // changed, and the collections go again. Where it throws DuplicateKey and there is `otherwise`, that is run in its place.
  using Work = std::function<void(storage::Transaction&)>;
  void write(const std::vector<storage::CollectionId>& made, const Work& work, const Work& otherwise = nullptr);
  // Drops those of the collections from the branch that have no documents there. `transaction` changes no documents: changes of
  // documents and changes of branches are logged in transactions of their own.
  void drop_empty(storage::Transaction& transaction, const std::vector<storage::CollectionId>& collections);

 private:
  OperationContext& op_;
  versions::BranchedDatabase& database_;
  const std::string branch_, db_;
};

}  // namespace server
