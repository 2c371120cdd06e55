// This file implements the part of the catalog that declared snapshots need.
#include <algorithm>
#include <set>

#include "storage/collections/stored_catalog.h"
#include "storage/contents/contents.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/internals.h"

namespace storage {

std::map<CollectionId, CollectionEntry> StoredCatalog::entries_as_of(Transaction& transaction, Stamp snapshot) const {
  std::map<CollectionId, CollectionEntry> entries;
  for (CollectionEntry& entry : read_catalog(transaction, table_).collections) entries.emplace(entry.id, std::move(entry));
  for (auto& [id, before] : past_catalog_.as_of(transaction, snapshot)) {
    if (before) {
      entries.insert_or_assign(id, std::move(*before));
    } else {
      entries.erase(id);
    }
  }
  for (auto& [id, entry] : entries) std::erase_if(entry.indexes, [](const IndexEntry& index) { return !index.ready; });
  return entries;
}

std::shared_ptr<StoredCollection> StoredCatalog::stored(CollectionId id) const {
  const base::ReaderLock lock(mutex_);
  const auto there = by_id_.find(id);
  if (there != by_id_.end()) return std::dynamic_pointer_cast<StoredCollection>(there->second);
  const auto past = past_.find(id);
  return past == past_.end() ? nullptr : past->second;
}

std::shared_ptr<StoredIndex> StoredCatalog::index_as_of(const StoredCollection& collection, const IndexEntry& entry) {
  auto index = describe_index(collection.id(), entry);
  const auto now = collection.stored_indexes();
  const auto same = std::find_if(now->begin(), now->end(), [&](const auto& one) { return one->number() == entry.number; });
  if (same == now->end()) {
    index->multikey_path_set().add_all();
    if (!entry.multikey_fields) index->add_multikey_fields(~uint32_t{0});  // an older directory: nobody knows any more
    if (collection.moves()) index->set_shared();
  } else {
    index->go_on_from(**same);
  }
  return index;
}

// Returns whether a declared snapshot shows what the table of a collection or an index holds.
bool StoredCatalog::past_shows(const std::string& table, CollectionId owner) const {
  const PastCatalog& past = past_catalog_;
  Transaction transaction(engine_, Transaction::Mode::read);
  const auto entry = past.newest(transaction, owner);
  if (!entry || !table.starts_with("index-")) return entry.has_value();
  bool shown = false;
  past.each_entry(transaction, [&](const CollectionEntry& one) {
    for (const IndexEntry& index : one.indexes)
      shown = shown || (one.id == owner && index.ready && index_table_name(owner, index.number) == table);
  });
  return shown;
}

void StoredCatalog::forget_past() {
  const base::MutexLock ddl(ddl_mutex_);
  const PastCatalog& past = past_catalog_;
  std::map<std::string, CollectionId> tables;  // only the past may have kept them
  std::set<CollectionId> named;                // by the log
  {
    const base::ReaderLock lock(mutex_);
    for (const DroppedCollection& one : dropped_) named.insert(one.collection->id());
  }
  in_transaction(engine_, [&](Transaction& transaction) {
    tables.clear();
    past.each_entry(transaction, [&](const CollectionEntry& entry) {
      const auto there = open(entry.id);
      if (!there) {
        for (const std::string& table : store_table_names(entry.id)) tables.emplace(table, entry.id);
      }
      for (const IndexEntry& index : entry.indexes) tables.emplace(index_table_name(entry.id, index.number), entry.id);
      if (!there) return;
      const auto indexes = static_cast<StoredCollection&>(*there).stored_indexes();
      for (const auto& index : *indexes) tables.erase(index->table().name());
    });
    // The list of snapshots is taken after the transaction began, so no row that it sees belongs to a snapshot that the list
    // lacks.
    past.keep_only(transaction, services_.contents.snapshots.all());
  });
  for (const auto& [table, owner] : tables) {
    if (past_shows(table, owner)) continue;
    const bool of_index = table.starts_with("index-");
    if (of_index || !named.contains(owner)) engine_.drop_table(table);
    const base::WriterLock lock(mutex_);
    if (!of_index) past_.erase(owner);
  }
}

}  // namespace storage
