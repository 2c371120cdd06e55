#include "replication/local_document.h"
#include "storage/store.h"

#include <shared_mutex>

namespace replication {

using storage::Transaction;

std::optional<bson::Document> read_local(storage::Store& store, std::string_view ns) {
  const auto collection = store.catalog().open(ns);
  if (!collection) return std::nullopt;
  const std::shared_lock schema(collection->schema_mutex());
  Transaction transaction(store, Transaction::Mode::read);
  const auto scan = collection->scan(transaction, storage::Direction::forward);
  if (!scan->next()) return std::nullopt;
  return bson::Document(scan->document());
}

void put_local(Transaction& transaction, storage::Collection& collection, bson::DocumentView document) {
  const auto scan = collection.scan(transaction, storage::Direction::forward);
  if (!scan->next()) {
    collection.insert(transaction, document);
    return;
  }
  const storage::RecordId record = scan->record();
  const bson::Document before(scan->document());
  scan->save();
  collection.update(transaction, record, before, document);
}

void write_local(storage::Store& store, std::string_view ns, bson::DocumentView document) {
  const auto collection = store.catalog().open_or_create(ns);
  const std::shared_lock schema(collection->schema_mutex());
  storage::in_transaction(store, [&](Transaction& transaction) { put_local(transaction, *collection, document); });
}

}  // namespace replication
