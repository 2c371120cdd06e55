// How many records a collection has and how many bytes, exactly, at any time
// and after any crash.
//
// A counter row that every writer changes would make all writers conflict. So
// each session counts for itself: the row's key ends in the session's number,
// which no two open transactions share. A transaction that changed records
// writes its session's row as its last act, and what the collection holds is the
// sum over its rows.
//
//   counts    collection (4, BE), slot (4, BE) -> records (8), bytes (8), newest stamp (8)
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "storage/engine/record_id.h"

namespace storage {

class Table;
class Transaction;

// The sums in memory. Thread-safe.
struct Counts {
  std::atomic<int64_t> records{0};
  std::atomic<int64_t> bytes{0};
};

// A session's part: what its open transaction changed, and its rows as they are stored.
class CountChanges {
 public:
  void add(CollectionId collection, const std::shared_ptr<Counts>& counts, int64_t records, int64_t bytes, Stamp stamp);
  bool empty() const { return changes_.empty(); }

  // What the open transaction changed so far.
  int64_t records(CollectionId collection) const;
  int64_t bytes(CollectionId collection) const;

  // Just before the commit: writes the rows.
  void write(Transaction& transaction, const Table& table, uint32_t slot);
  void committed();    // shows the changes to all
  void rolled_back();  // forgets them

 private:
  struct Row {
    int64_t records = 0;
    int64_t bytes = 0;
    Stamp stamp = 0;
  };
  struct Change {
    CollectionId collection;
    std::shared_ptr<Counts> counts;
    int64_t records;
    int64_t bytes;
    Stamp stamp;
    Row row;  // once written
  };
  std::vector<Change> changes_;
  std::unordered_map<CollectionId, Row> rows_;
};

struct StoredCounts {
  std::unordered_map<CollectionId, std::shared_ptr<Counts>> collections;
  Stamp newest = 0;  // the newest stamp any of them has seen
};
StoredCounts load_counts(Transaction& transaction, const Table& table);

// In the transaction that drops the collection.
void remove_counts(Transaction& transaction, const Table& table, CollectionId collection);

}  // namespace storage
