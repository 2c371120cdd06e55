// These functions read and write the catalog's table, which has these rows:
//
//   0 (4, BE)                                    -> {nextCollection}
//   collection (4, BE)                           -> {id, ns, uuid, options, …, indexes: [{number, spec, ready, …}], nextIndex}
//   collection (4, BE), 1                        -> {dropped: timestamp, entry: what the row above was}
//   collection (4), index (4), field (2), all BE -> nothing: an array was met on that field
//   …, 1, path                                   -> nothing: an array was met on that path of that field, in a wildcard index
//   …, 2                                         -> nothing: arrays were met on more paths than are kept
//
// The rows of multikey fields stand apart because plain writes add them. Such a write must not conflict with another one, or
// with a change of the schema, on one row.
#pragma once

#include <optional>
#include <vector>

#include "storage/collections/collection.h"

namespace storage {

struct IndexEntry {
  uint32_t number = 0;
  bson::Document spec;
  bool ready = true;
  std::optional<uint32_t> multikey_fields = {};  // as StoredIndex has them; only the past catalog sets it
  bool types = true;  // entries have the types of their values; indexes from before there were types don't
};

struct CollectionEntry {
  CollectionId id = 0;
  std::string ns;
  Bytes uuid;  // 16 bytes
  CollectionOptions options;
  std::vector<IndexEntry> indexes;
  uint32_t next_index = 1;
};

// A collection was dropped, and its tables stay.
struct DroppedEntry {
  Stamp dropped = 0;
  CollectionEntry entry;  // without indexes
};

Bytes catalog_key(CollectionId collection);
Bytes multikey_key(CollectionId collection, uint32_t index, uint32_t field);

bson::Document encode_entry(const CollectionEntry& entry);
// Throws DataCorruptionDetected.
CollectionEntry decode_entry(BytesView row);

bson::Document encode_dropped(const DroppedEntry& dropped);
DroppedEntry decode_dropped(BytesView row);  // throws DataCorruptionDetected

struct CatalogContents {
  CollectionId next_collection = 1;
  std::vector<CollectionEntry> collections;
  std::vector<DroppedEntry> dropped;
  struct Multikey {
    CollectionId collection;
    uint32_t index;
    uint32_t field;
    std::optional<std::string> path = {};  // of a wildcard index
    bool all_paths = false;
  };
  std::vector<Multikey> multikey;
};
CatalogContents read_catalog(Transaction& transaction, const Table& table);

void write_next_collection(Transaction& transaction, const Table& table, CollectionId next);
void write_entry(Transaction& transaction, const Table& table, const CollectionEntry& entry);
// Removes all rows of the collection.
void remove_entry(Transaction& transaction, const Table& table, CollectionId collection);
void write_dropped(Transaction& transaction, const Table& table, const DroppedEntry& dropped);
void write_multikey(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index, uint32_t field);
void write_multikey_path(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index, uint32_t field,
                         std::string_view path);
void write_multikey_all_paths(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index,
                              uint32_t field);
void remove_multikey(Transaction& transaction, const Table& table, CollectionId collection, uint32_t index);

}  // namespace storage
