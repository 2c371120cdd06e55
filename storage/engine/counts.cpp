#include "storage/engine/counts.h"

#include <algorithm>

#include "storage/engine/table.h"

namespace storage {
namespace {

constexpr size_t key_bytes = 8;
constexpr size_t row_bytes = 24;
constexpr size_t rows_max = 1000;  // a session remembers so many rows

Bytes row_key(CollectionId collection, uint32_t slot) {
  Bytes key;
  base::append_be64(key, uint64_t{collection} << 32 | slot);
  return key;
}

}  // namespace

void CountChanges::add(CollectionId collection, const std::shared_ptr<Counts>& counts, int64_t records, int64_t bytes,
                       Stamp stamp) {
  for (Change& change : changes_) {
    if (change.collection != collection) continue;
    change.records += records;
    change.bytes += bytes;
    change.stamp = std::max(change.stamp, stamp);
    return;
  }
  changes_.push_back({collection, counts, records, bytes, stamp, {}});
}

int64_t CountChanges::records(CollectionId collection) const {
  for (const Change& change : changes_) {
    if (change.collection == collection) return change.records;
  }
  return 0;
}

int64_t CountChanges::bytes(CollectionId collection) const {
  for (const Change& change : changes_) {
    if (change.collection == collection) return change.bytes;
  }
  return 0;
}

void CountChanges::write(Transaction& transaction, const Table& table, uint32_t slot) {
  for (Change& change : changes_) {
    const Bytes key = row_key(change.collection, slot);
    Row row;
    if (const auto known = rows_.find(change.collection); known != rows_.end()) {
      row = known->second;
    } else {
      if (const auto stored = table.get(transaction, key); stored && stored->size() == row_bytes) {
        row.records = base::load_le<int64_t>(stored->data());
        row.bytes = base::load_le<int64_t>(stored->data() + 8);
        row.stamp = base::load_le<uint64_t>(stored->data() + 16);
      }
    }
    change.row = {row.records + change.records, row.bytes + change.bytes, std::max(row.stamp, change.stamp)};
    char value[row_bytes];
    base::store_le(value, change.row.records);
    base::store_le(value + 8, change.row.bytes);
    base::store_le(value + 16, change.row.stamp);
    table.put(transaction, key, BytesView(value, row_bytes));
  }
}

void CountChanges::committed() {
  for (Change& change : changes_) {
    rows_[change.collection] = change.row;
    change.counts->records.fetch_add(change.records, std::memory_order_relaxed);
    change.counts->bytes.fetch_add(change.bytes, std::memory_order_relaxed);
  }
  changes_.clear();
  if (rows_.size() > rows_max) rows_.clear();
}

void CountChanges::rolled_back() {
  changes_.clear();
}

StoredCounts load_counts(Transaction& transaction, const Table& table) {
  StoredCounts stored;
  TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) {
    const BytesView key = cursor.key();
    const BytesView value = cursor.value();
    if (key.size() != key_bytes || value.size() != row_bytes) {
      throw base::OperationError(base::ErrorCode::data_corruption_detected, "damaged row in table " + table.name());
    }
    auto& counts = stored.collections[static_cast<CollectionId>(base::load_be64(key.data()) >> 32)];
    if (!counts) counts = std::make_shared<Counts>();
    counts->records += base::load_le<int64_t>(value.data());
    counts->bytes += base::load_le<int64_t>(value.data() + 8);
    stored.newest = std::max(stored.newest, base::load_le<uint64_t>(value.data() + 16));
  }
  return stored;
}

void remove_counts(Transaction& transaction, const Table& table, CollectionId collection) {
  std::vector<Bytes> keys;
  {
    TableCursor cursor = table.cursor(transaction);
    const Bytes end = row_key(collection + 1, 0);
    for (bool on = cursor.seek(row_key(collection, 0)); on && cursor.key() < end; on = cursor.next()) {
      keys.emplace_back(cursor.key());
    }
  }
  for (const Bytes& key : keys) table.remove(transaction, key);
}

}  // namespace storage
