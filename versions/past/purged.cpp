// This part of Past removes documents from all snapshots for good.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "storage/collections/stored_collection.h"
#include "storage/store.h"
#include "versions/past/content_key.h"
#include "versions/past/past.h"

namespace versions::past {

void Past::load_purged() {
  Transaction transaction(store_, Transaction::Mode::read);
  storage::TableCursor cursor = purged_rows_.cursor(transaction);
  const base::WriterLock lock(purged_mutex_);
  while (cursor.next()) {
    purged_.insert(read_content_key(cursor.key()));
    purges_ = 1;
  }
}

bool Past::purged(CollectionId collection, const Mapping& content) const {
  if (purges_.load() == 0) return false;
  const base::ReaderLock lock(purged_mutex_);
  return purged_.contains({collection, content.row, content.content});
}

// The records that are, or were, documents with this key.
std::set<RecordId> Past::records_ever(Transaction& transaction, storage::StoredCollection& collection, BytesView key) const {
  const auto index = collection.stored_indexes()->front();
  std::set<RecordId> records;
  const storage::KeyRange range{Bytes(key), Bytes(key) + Bytes(17, '\xff')};
  SavedEntries::Cursor saved(entries_, transaction, collection.id(), index->number(), storage::Direction::forward);
  for (saved.seek(range); saved.next();) {
    if (saved.key() == key) records.insert(saved.record());
  }
  const auto current = index->cursor(transaction, storage::Direction::forward);
  for (current->seek(range); current->next();) {
    if (current->key() == key) records.insert(current->record());
  }
  return records;
}

// The contents of the record that are kept in the chain table from the time when it was a document with this key. It may have
// been another document before or after.
std::vector<Mapping> Past::kept_of(Transaction& transaction, storage::StoredCollection& collection, RecordId record,
                                   BytesView key) const {
  const auto index = collection.stored_indexes()->front();
  std::vector<Mapping> contents;
  each_kept(transaction, collection, record, [&](const Mapping& one) {
    contents.push_back(one);
    return true;
  });
  std::erase_if(contents, [&](const Mapping& one) {
    const auto content =
        collection.records().find_kept(transaction, one.row, one.content, chain_of(transaction, collection.id(), one));
    if (!content) return true;
    storage::IndexKeys keys;
    index->keys_of(bson::DocumentView(*content), keys);
    return std::find(keys.keys.begin(), keys.keys.end(), key) == keys.keys.end();
  });
  return contents;
}

uint64_t Past::purge(Transaction& transaction, storage::StoredCollection& collection, BytesView key) {
  if (!made_.load(std::memory_order_acquire)) return 0;
  const auto counts_change = [this] { ++purges_; };
  transaction.after_commit(counts_change);
  const std::set<RecordId> records = records_ever(transaction, collection, key);
  std::vector<Mapping> contents;
  uint64_t purged = 0;
  const storage::StoredIndexes indexes = indexes_ever(collection);
  for (const RecordId record : records) {
    for (const Mapping& newest : kept_of(transaction, collection, record, key)) {
      const auto released = release_one(transaction, collection, indexes, newest);
      contents.insert(contents.end(), released.begin(), released.end());
      purged += released.size();
    }
    purged += purge_row(transaction, collection, indexes, record, key);
  }
  if (purged == 0) return 0;
  for (const Mapping& one : contents) {
    purged_rows_.put(transaction, content_key(collection.id(), one), {});
    const std::tuple name(collection.id(), one.row, one.content);
    // This happens before the commit: a reader that sees that a content is gone must know why.
    const base::WriterLock lock(purged_mutex_);
    if (!purged_.insert(name).second) continue;
    transaction.after_rollback([this, name] {
      const base::WriterLock again(purged_mutex_);
      purged_.erase(name);
    });
  }
  transaction.after_rollback(counts_change);
  counts_change();
  return purged;
}

// The same for what is kept in the record's row, which belongs to the document that the record is now.
uint64_t Past::purge_row(Transaction& transaction, storage::StoredCollection& collection, const storage::StoredIndexes& indexes,
                         RecordId record, BytesView key) const {
  const auto current = collection.records().find(transaction, record);
  if (!current) return 0;
  storage::IndexKeys keys;
  collection.stored_indexes()->front()->keys_of(bson::DocumentView(*current), keys);
  if (std::find(keys.keys.begin(), keys.keys.end(), key) == keys.keys.end()) return 0;
  const auto contents = collection.records().drop_pre_states(transaction, record);
  for (const auto& [generation, content] : contents) {
    for (const auto& index : indexes) {
      if (!index->is_id()) entries_.remove(transaction, collection.id(), *index, bson::DocumentView(content), record, generation);
    }
  }
  return contents.size();
}

}  // namespace versions::past
