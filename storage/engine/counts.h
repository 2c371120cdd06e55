// The counts say how many records and how many bytes a collection has. They are exact at any time and after any crash.
//
// If every writer changed one counter row, all writers would conflict. So each session counts for itself: the row's key ends in
// the session's number, which no two open transactions share. A transaction that changed records writes its session's row as its
// last act, and the count of a collection is the sum over its rows.
//
//   counts    collection (4, BE), slot (4, BE) -> records (8), bytes (8), newest timestamp (8)
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "storage/engine/record_id.h"

namespace storage {

class Table;
class Transaction;

// This struct holds the sums in memory. It is thread-safe.
struct Counts {
  std::atomic<int64_t> records{0};
  std::atomic<int64_t> bytes{0};
};

// This class is a session's part of the counts: it holds the changes of the open transaction, and the session's rows as they are
// stored.
class CountChanges {
 public:
  void add(CollectionId collection, const std::shared_ptr<Counts>& counts, int64_t records, int64_t bytes, Stamp stamp);
  bool empty() const { return changes_.empty(); }

  // These return the changes that the open transaction has made so far.
  int64_t records(CollectionId collection) const;
  int64_t bytes(CollectionId collection) const;

  // Writes the rows; it is called just before the commit.
  void write(Transaction& transaction, const Table& table, uint32_t slot);
  void committed();    // makes the changes visible to all
  void rolled_back();  // forgets the changes

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
    Row row;  // it is set once the row is written
  };
  std::vector<Change> changes_;
  std::unordered_map<CollectionId, Row> rows_;
};

struct StoredCounts {
  std::unordered_map<CollectionId, std::shared_ptr<Counts>> collections;
  Stamp newest = 0;  // it is the newest timestamp in any of the rows
};
StoredCounts load_counts(Transaction& transaction, const Table& table);

// Removes the collection's counts; it is called in the transaction that drops the collection.
void remove_counts(Transaction& transaction, const Table& table, CollectionId collection);

}  // namespace storage
