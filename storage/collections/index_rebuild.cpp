#include "storage/collections/index_rebuild.h"

#include <algorithm>

#include "storage/collections/stored_catalog.h"
#include "storage/contents/contents.h"
#include "storage/engine/internals.h"
#include "storage/engine/names.h"

namespace storage {

using base::ErrorCode;
using base::OperationError;

namespace {

// Returns a collection's entry for the time of the rebuild: each index has a successor, which isn't ready yet.
CollectionEntry with_successors(const CollectionEntry& before) {
  CollectionEntry entry = before;
  for (const IndexEntry& index : before.indexes) entry.indexes.push_back({entry.next_index++, index.spec, false});
  return entry;
}

// Returns the entry for the time after the rebuild.
CollectionEntry successors_alone(const CollectionEntry& begun) {
  CollectionEntry entry = begun;
  std::erase_if(entry.indexes, [](const IndexEntry& index) { return index.ready; });
  for (IndexEntry& index : entry.indexes) index.ready = true;
  return entry;
}

// A snapshot finds its older documents through the indexes' current numbers, so a rebuild would break it.
[[noreturn]] void refuse_snapshots() {
  throw OperationError(ErrorCode::illegal_operation, "indexes can't be rebuilt while there are declared snapshots");
}

}  // namespace

void rebuild_indexes(Catalog& catalog, const std::shared_ptr<Collection>& collection, const SchemaChange& how) {
  dynamic_cast<StoredCatalog&>(catalog).rebuild_indexes(collection, how);
}

void StoredCatalog::rebuild_indexes(const std::shared_ptr<Collection>& given, const SchemaChange& how) {
  const Shared collection = stored(given);
  const auto check_views = [&] {
    if (ViewSource* const views = views_) views->check_alone(database_of(given->ns()), "rebuilding indexes");
  };
  check_views();
  const auto schema = base::hold_exclusively(collection->schema_mutex(), how.interrupted);
  check_views();  // it may have got branches since
  if (collection->dropped()) throw OperationError(ErrorCode::namespace_not_found, "collection was dropped: " + collection->ns());
  if (!services_.contents.snapshots.all().empty()) refuse_snapshots();
  engine_.internals().require_room(DiskUse::background);

  const CollectionEntry begun = with_successors(collection->entry());
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) { write_entry(transaction, table_, begun); });
  }
  collection->set_next_index(begun.next_index);
  auto built = std::make_shared<StoredIndexes>();
  try {
    for (const IndexEntry& index : begun.indexes) {
      if (!index.ready) built->push_back(make_index(begun.id, index));
    }
    build_indexes(engine_, *collection, *built, KeyLimits::none, how.interrupted, how.progress);
    take_over(collection, begun, built);
  } catch (...) {
    abandon_indexes(collection, begun, *built);
    throw;
  }
}

void StoredCatalog::take_over(const Shared& collection, const CollectionEntry& begun,
                              const std::shared_ptr<StoredIndexes>& built) {
  const CollectionEntry entry = successors_alone(begun);
  const auto before = collection->stored_indexes();
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) {
      // A snapshot may have been declared since. Snapshots after this timestamp show the new indexes.
      if (services_.contents.snapshots.newest_before(transaction.next_stamp()) != 0) refuse_snapshots();
      write_entry(transaction, table_, entry);
      for (const auto& index : *before) remove_multikey(transaction, table_, entry.id, index->number());
    });
  }
  collection->set_entry(entry);
  for (const auto& index : *built) index->set_ready();
  collection->set_indexes(built);
  for (const auto& index : *before) drop_index_table(*collection, *index);
}

}  // namespace storage
