#include "server/commands/versions/branch_writer.h"

#include "base/error.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/keep_for_log.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server {

using versions::BranchedDatabase;

BranchWriter::BranchWriter(OperationContext& op, BranchedDatabase& database, std::string branch)
    : op_(op),
      database_(database),
      branch_(std::move(branch)),
      db_(branch_ == BranchedDatabase::main ? database.name() : database.name() + "@" + versions::escaped(branch_)) {}

write::Target BranchWriter::target(storage::CollectionId collection) const {
  const auto shared = database_.versions_of(collection);
  std::shared_ptr<storage::Collection> there;
  if (shared) there = write::store_of(op_).catalog().open(db_ + "." + std::string(storage::collection_of(shared->base.ns())));
  if (!there)
    throw base::OperationError(base::ErrorCode::namespace_not_found, "a collection was dropped from database '" + db_ + "'");
  return write::Target::held(std::move(there));
}

void BranchWriter::write(const std::vector<storage::CollectionId>& made, const Work& work, const Work& otherwise) {
  if (!made.empty()) {
    write::in_transaction(op_, [&](storage::Transaction& transaction) {
      const versions::Branch branch = database_.branch(transaction, {.name = branch_});
      for (const storage::CollectionId id : made) database_.make_collection(transaction, branch, id);
      database_.check_series(transaction, branch);
    });
  }
  try {
    try {
      write::in_transaction(op_, work);
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::duplicate_key || !otherwise) throw;
      write::in_transaction(op_, otherwise);
    }
  } catch (...) {
    const storage::InterruptibleWaits uninterrupted(nullptr);
    if (!made.empty()) write::in_transaction(op_, [&](storage::Transaction& transaction) { drop_empty(transaction, made); });
    throw;
  }
}

void BranchWriter::drop_empty(storage::Transaction& transaction, const std::vector<storage::CollectionId>& collections) {
  const versions::Branch branch = database_.branch(transaction, {.name = branch_});
  for (const storage::CollectionId id : collections) {
    const auto scan = target(id)->scan(transaction, storage::Direction::forward);
    if (!scan->next()) database_.drop_collection(transaction, branch, id, write::keep_for_log(op_));
  }
}

}  // namespace server
