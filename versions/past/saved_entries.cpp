#include "versions/past/saved_entries.h"

#include "base/error.h"

namespace versions::past {
namespace {

constexpr size_t suffix_bytes = 16;  // record and generation

Bytes prefix_of(CollectionId collection, uint32_t index) {
  Bytes prefix;
  base::append_be64(prefix, uint64_t{collection} << 32 | index);
  return prefix;
}

Bytes row_of(CollectionId collection, uint32_t index, BytesView key, RecordId record, Stamp generation) {
  Bytes row = prefix_of(collection, index);
  row.append(key);
  base::append_be64(row, static_cast<uint64_t>(record));
  base::append_be64(row, generation);
  return row;
}

template <class Visit>
void each_key(CollectionId collection, const storage::StoredIndex& index, bson::DocumentView content, RecordId record,
              Stamp generation, const Visit& visit) {
  storage::IndexKeys keys;
  index.keys_of(content, keys);
  for (const Bytes& key : keys.keys) visit(row_of(collection, index.number(), key, record, generation));
}

// The first key behind all keys that begin with this.
Bytes behind(Bytes prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (!prefix.empty()) ++prefix.back();
  return prefix;
}

}  // namespace

void SavedEntries::add(Transaction& transaction, CollectionId collection, const storage::StoredIndex& index,
                       bson::DocumentView content, RecordId record, Stamp generation) const {
  each_key(collection, index, content, record, generation, [&](const Bytes& row) { table_.put(transaction, row, {}); });
}

void SavedEntries::remove(Transaction& transaction, CollectionId collection, const storage::StoredIndex& index,
                          bson::DocumentView content, RecordId record, Stamp generation) const {
  each_key(collection, index, content, record, generation, [&](const Bytes& row) { table_.remove(transaction, row); });
}

std::vector<std::pair<CollectionId, uint32_t>> SavedEntries::indexes(storage::Engine& engine) const {
  std::vector<std::pair<CollectionId, uint32_t>> all;
  Transaction transaction(engine, Transaction::Mode::read);
  storage::TableCursor cursor = table_.cursor(transaction);
  for (bool on = cursor.next(); on && cursor.key().size() >= 8;
       on = cursor.seek(behind(prefix_of(all.back().first, all.back().second)))) {
    const uint64_t prefix = base::load_be64(cursor.key().data());
    all.emplace_back(static_cast<CollectionId>(prefix >> 32), static_cast<uint32_t>(prefix));
  }
  return all;
}

void SavedEntries::remove_all(Transaction& transaction, CollectionId collection, uint32_t index) const {
  const Bytes prefix = prefix_of(collection, index);
  table_.truncate(transaction, prefix, behind(prefix));
}

SavedEntries::Cursor::Cursor(const SavedEntries& entries, Transaction& transaction, CollectionId collection, uint32_t index,
                             storage::Direction direction)
    : rows_(entries.table_.cursor(transaction)),
      prefix_(prefix_of(collection, index)),
      forward_(direction == storage::Direction::forward) {
  seek({});
}

void SavedEntries::Cursor::seek(const storage::KeyRange& range) {
  from_ = prefix_ + range.from;
  to_ = range.to.empty() ? behind(prefix_) : prefix_ + range.to;
  started_ = false;
}

bool SavedEntries::Cursor::next() {
  bool on = false;
  if (started_) {
    on = forward_ ? rows_.next() : rows_.previous();
  } else if (forward_) {
    on = rows_.seek(from_);
  } else {
    on = to_.empty() ? (rows_.reset(), rows_.previous()) : rows_.seek_back(to_) && (rows_.key() < to_ || rows_.previous());
  }
  started_ = true;
  if (!on) return false;
  const BytesView row = rows_.key();
  if (forward_ ? !to_.empty() && row >= to_ : row < from_) return false;
  if (row.size() < prefix_.size() + suffix_bytes) {
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of the past's index entries is damaged");
  }
  at_.key = row.substr(prefix_.size(), row.size() - prefix_.size() - suffix_bytes);
  at_.record = static_cast<RecordId>(base::load_be64(row.data() + row.size() - suffix_bytes));
  at_.generation = base::load_be64(row.data() + row.size() - suffix_bytes / 2);
  return true;
}

}  // namespace versions::past
