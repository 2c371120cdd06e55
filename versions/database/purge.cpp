// This part of Databases removes a document from branches, commits and snapshots, in databases with and without branches.
#include "bson/keystring.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/log/retention_entries.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;
using storage::StoredCollection;

uint64_t Databases::purge(const std::string& db, const std::string& collection, const bson::ValueView& id,
                          const BranchedDatabase::Lost& lost, const InTransaction& in_transaction) {
  if (db == "local") throw OperationError(ErrorCode::illegal_operation, "database 'local' has no past to purge");
  const std::string ns = db + "." + collection;
  for (;;) {
    const auto stored = std::dynamic_pointer_cast<StoredCollection>(store_.catalog().open(ns));
    const auto database = find(db);
    if (database && !(stored && !has_versions(*stored))) {
      const auto indexes = database->keep_indexes();
      return in_transaction([&](Transaction& transaction) { return database->purge(transaction, collection, id, lost); });
    }
    if (!stored)
      throw OperationError(ErrorCode::namespace_not_found, "database '" + db + "' has no collection '" + collection + "'");
    const std::shared_lock schema(stored->schema_mutex());
    // Before the lock was taken, the collection may have been dropped or renamed, or the database may have got its first branch.
    if (stored->dropped() || stored->ns() != ns || stored->moves()) continue;
    return in_transaction([&](Transaction& transaction) { return purge_unversioned(transaction, db, *stored, id, lost); });
  }
}

uint64_t Databases::purge_unversioned(Transaction& transaction, const std::string& db, StoredCollection& collection,
                                      const bson::ValueView& id, const BranchedDatabase::Lost& lost) const {
  bson::KeyString key;
  key.append(id, false, collection.options().collator.get());
  uint64_t purged = past_.past().purge(transaction, collection, key.bytes());
  if (const auto record = collection.find_id(transaction, id)) {
    const auto generation = collection.records().generation_not_after(transaction, *record, UINT64_MAX, true);
    const auto document = collection.find(transaction, *record, nullptr);
    base::check(generation && document, "an entry of the _id index leads to a document");
    if (lost) lost(transaction, collection.id(), *record, *generation, document->bytes());
    collection.purge(transaction, *record, *document);
    ++purged;
  } else {
    // All members must apply this and an insert of the same key in one order, or they would differ in whether they have the
    // document.
    collection.stored_indexes()->front()->claim(transaction, key.bytes());
  }
  if (log_ && (purged > 0 || transaction.replays())) {
    const log::Purge entry{.collection = std::string(storage::collection_of(collection.ns())), .id = bson::Value(id)};
    log_->branches_changed(transaction, db, entry.encode());
  }
  return purged;
}

void Databases::replay_purge(const std::string& db, const storage::BranchChange& change,
                             const storage::ReplayedChange& replayed) {
  if (!change.documents.empty()) log::refuse("the log has documents before a purge, which changes none");
  const auto entry = log::Purge::decode(change.command);
  purge(db, entry.collection, entry.id, lost(), [&](const auto& work) {
    return storage::in_transaction(store_, [&](Transaction& transaction) {
      transaction.set_next_stamp(change.stamp);
      transaction.set_replayed(&replayed);
      return work(transaction);
    });
  });
}

}  // namespace versions
