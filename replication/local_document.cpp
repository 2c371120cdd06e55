#include "replication/local_document.h"

#include <shared_mutex>

namespace replication {

using storage::Transaction;

std::optional<bson::Document> read_local(storage::Engine& engine, std::string_view ns) {
  const auto collection = engine.catalog().open(ns);
  if (!collection) return std::nullopt;
  const std::shared_lock schema(collection->schema_mutex());
  Transaction transaction(engine, Transaction::Mode::read);
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

void write_local(storage::Engine& engine, std::string_view ns, bson::DocumentView document) {
  const auto collection = engine.catalog().open_or_create(ns);
  const std::shared_lock schema(collection->schema_mutex());
  storage::in_transaction(engine, [&](Transaction& transaction) { put_local(transaction, *collection, document); });
}

}  // namespace replication
