// The past catalog keeps catalog entries as they were before a change, so that declared snapshots still show their collections
// and indexes.
//
//   collection (4, BE), snapshot (8, BE) -> its entry before the first change after the snapshot; nothing: it did not exist
//
// A row holds for all snapshots since the collection's row before it. The tables of collections and indexes that a row names
// stay.
#pragma once

#include <map>
#include <optional>

#include "storage/collections/catalog_rows.h"

namespace storage {

// This class is thread-safe; transactions are not.
class PastCatalog {
 public:
  explicit PastCatalog(Engine& engine);  // opens the table if there is one
  // Creates the table. The caller calls this before it declares the first snapshot, and not inside a transaction.
  void make();

  // Keeps an entry in the transaction that is about to change it; nullptr: the collection is being created. `snapshot` is the
  // position before the change.
  void save(Transaction& transaction, CollectionId collection, const CollectionEntry* before, Stamp snapshot) const;
  // Returns, by collection, the entries that differ in the snapshot from the current ones; nullopt: the collection did not
  // exist.
  std::map<CollectionId, std::optional<CollectionEntry>> as_of(Transaction& transaction, Stamp snapshot) const;
  // Returns the newest kept entry of a collection; nullopt: there is none.
  std::optional<CollectionEntry> newest(Transaction& transaction, CollectionId collection) const;
  // Returns whether a kept entry of the collection lists the index, complete.
  bool lists_index(Transaction& transaction, CollectionId collection, uint32_t index) const;
  std::vector<CollectionId> collections(Transaction& transaction) const;
  // Visits every kept entry.
  void each_entry(Transaction& transaction, const std::function<void(const CollectionEntry&)>& visit) const;
  // Removes the rows that hold for none of these snapshots, which are sorted.
  void keep_only(Transaction& transaction, const std::vector<Stamp>& snapshots) const;

 private:
  struct Row {
    CollectionId collection;
    Stamp snapshot;
    std::optional<CollectionEntry> entry;
  };
  // Visits the rows of one collection, or all rows.
  void each(Transaction& transaction, std::optional<CollectionId> collection, const std::function<void(Row&&)>& visit) const;

  Engine& engine_;
  Table table_;  // set once there has been a snapshot
};

}  // namespace storage
