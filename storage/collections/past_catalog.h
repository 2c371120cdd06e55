// What the catalog said before it was changed: collections and indexes as declared snapshots show them.
//
//   collection (4, BE), snapshot (8, BE) -> its entry as it was then, by the first change after it; nothing: it was not there
//
// A row says it of all snapshots since the collection's row before. Tables of collections and indexes that a row tells of stay.
#pragma once

#include <map>
#include <optional>

#include "storage/collections/catalog_rows.h"

namespace storage {

// Thread-safe; transactions are not.
class PastCatalog {
 public:
  explicit PastCatalog(Engine& engine);  // opens what there is
  // Before the first snapshot is declared. Not inside a transaction.
  void make();

  // What is about to change, in the same transaction; nullptr: it is being made. `snapshot`: the position before the change.
  void save(Transaction& transaction, CollectionId collection, const CollectionEntry* before, Stamp snapshot) const;
  // Where a snapshot shows something else than is there now: by collection; nullopt: not there.
  std::map<CollectionId, std::optional<CollectionEntry>> as_of(Transaction& transaction, Stamp snapshot) const;
  // The newest entry told of a collection; nullopt: nobody tells of it.
  std::optional<CollectionEntry> newest(Transaction& transaction, CollectionId collection) const;
  bool tells_of_index(Transaction& transaction, CollectionId collection, uint32_t index) const;
  std::vector<CollectionId> collections(Transaction& transaction) const;
  // Every entry that is told of.
  void each_entry(Transaction& transaction, const std::function<void(const CollectionEntry&)>& visit) const;
  // Takes the rows away that tell of none of these snapshots, which are sorted.
  void keep_only(Transaction& transaction, const std::vector<Stamp>& snapshots) const;

 private:
  struct Row {
    CollectionId collection;
    Stamp snapshot;
    std::optional<CollectionEntry> entry;
  };
  // Those of one collection, or all.
  void each(Transaction& transaction, std::optional<CollectionId> collection, const std::function<void(Row&&)>& visit) const;

  Engine& engine_;
  Table table_;  // once there has been a snapshot
};

}  // namespace storage
