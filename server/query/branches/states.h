// Readers of several states of a database with branches share these functions.
#pragma once

#include <memory>
#include <string_view>

#include "storage/engine/transaction.h"
#include "versions/database/branched_database.h"

namespace server {
class OperationContext;
}

namespace server::query {

// Returns the database of a name, with or without a ref behind it. Throws NamespaceNotFound if it has no branches.
std::shared_ptr<versions::BranchedDatabase> branched_database(OperationContext& op, std::string_view db);

// Returns the key by which versions tell documents apart.
base::Bytes key_of_id(const bson::ValueView& id);
std::string hex(const versions::Hash& id);
// Returns {commit, parents, time, message, author}.
bson::Document describe(storage::Transaction& transaction, const versions::VersionGraph& graph, const versions::Commit& commit);

// States are one moment of a database, from the first batch of a cursor to its last. They may move between threads.
class States {
 public:
  States(OperationContext& op, std::shared_ptr<versions::BranchedDatabase> database);

  versions::BranchedDatabase& database() const { return *database_; }
  versions::Branches& branches() const { return database_->branches(); }
  storage::Transaction& transaction() const { return *transaction_; }

  versions::Place place(const versions::Ref& ref) const { return database_->place(*transaction_, ref); }
  // Returns a view; if nothing is pending, it is one without pending writes, in which documents are found faster.
  versions::View view(const versions::SharedCollection& collection, const versions::Place& place) const;

 private:
  std::shared_ptr<versions::BranchedDatabase> database_;
  std::unique_ptr<storage::Transaction> transaction_;
};

// A collection in all its versions; empty if the database has none of the name.
struct Versioned {
  Versioned() = default;
  Versioned(OperationContext& op, const States& states, std::string_view name);
  Versioned(const States& states, std::shared_ptr<storage::Collection> collection);

  explicit operator bool() const { return shared != nullptr; }
  versions::BranchStore& store() const { return shared->store; }

  std::shared_ptr<storage::Collection> collection;  // keeps `shared` valid
  std::shared_ptr<versions::SharedCollection> shared;
};

}  // namespace server::query
