// What is taken out of snapshots for good.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "storage/engine.h"
#include "storage/kept_contents.h"
#include "storage/stored_collection.h"
#include "versions/past/past.h"

namespace versions::past {

void Past::load_purged() {
  Transaction transaction(engine_, Transaction::Mode::read);
  storage::TableCursor cursor = purged_rows_.cursor(transaction);
  while (cursor.next()) {
    const BytesView key = cursor.key();
    if (key.size() != content_key(0, {}).size()) {
      throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of what was purged from snapshots is damaged");
    }
    const char* const record = key.data() + sizeof(CollectionId);
    purges_ = 1;
    purged_.emplace(__builtin_bswap32(base::load_le<uint32_t>(key.data())), static_cast<RecordId>(base::load_be64(record)), base::load_be64(record + sizeof(RecordId)));
  }
}

bool Past::purged(CollectionId collection, const Mapping& content) const {
  if (purges_.load() == 0) return false;
  const std::shared_lock lock(purged_mutex_);
  return purged_.contains({collection, content.row, content.content});
}

// What is kept of documents with this key.
std::vector<Mapping> Past::kept_of(Transaction& transaction, storage::StoredCollection& collection, BytesView key) const {
  const auto index = collection.stored_indexes()->front();
  std::set<RecordId> records;
  {
    SavedEntries::Cursor entries(entries_, transaction, collection.id(), index->number(), storage::Direction::forward);
    const Bytes from(key);
    entries.seek({from, from + Bytes(17, '\xff')});
    while (entries.next()) {
      if (entries.key() == from) records.insert(entries.record());
    }
  }
  std::vector<Mapping> contents;
  storage::KeptContents reader(collection.records(), transaction);
  for (const RecordId record : records) {
    std::vector<Mapping> of_record;
    each_kept(transaction, collection, record, [&](const Mapping& one) {
      of_record.push_back(one);
      return true;
    });
    // The record may have been another document's before or after.
    std::erase_if(of_record, [&](const Mapping& one) {
      storage::IndexKeys keys;
      index->keys_of(bson::DocumentView(content(transaction, reader, collection.id(), one, nullptr)), keys);
      return std::find(keys.keys.begin(), keys.keys.end(), key) == keys.keys.end();
    });
    contents.insert(contents.end(), of_record.begin(), of_record.end());
  }
  return contents;
}

uint64_t Past::purge(Transaction& transaction, storage::StoredCollection& collection, BytesView key) {
  if (!made_.load(std::memory_order_acquire)) return 0;
  const auto counts_change = [this] { ++purges_; };
  transaction.after_commit(counts_change);
  const std::vector<Mapping> contents = kept_of(transaction, collection, key);
  if (contents.empty()) return 0;
  const storage::StoredIndexes indexes = indexes_ever(collection);
  for (const Mapping& one : contents) {
    release_one(transaction, collection, indexes, one);
    purged_rows_.put(transaction, content_key(collection.id(), one), {});
    const std::tuple name(collection.id(), one.row, one.content);
    // Before the commit: who sees that it is gone must know why.
    const std::unique_lock lock(purged_mutex_);
    if (!purged_.insert(name).second) continue;
    transaction.after_rollback([this, name] {
      const std::unique_lock again(purged_mutex_);
      purged_.erase(name);
    });
  }
  transaction.after_rollback(counts_change);
  counts_change();
  return contents.size();
}

}  // namespace versions::past
