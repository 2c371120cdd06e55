// This part of Past works in the background. Nothing that a snapshot shows changes by it.
#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "storage/collections/past_catalog.h"
#include "storage/collections/stored_collection.h"
#include "storage/store.h"
#include "versions/past/content_key.h"
#include "versions/past/past.h"

namespace versions::past {

namespace {

constexpr size_t batch = 256;       // contents that one transaction frees
constexpr size_t looked_at = 4096;  // mappings that it looks at in one transaction, and keeps in memory

bool has_index(const storage::StoredCollection& collection, uint32_t number) {
  const auto indexes = collection.stored_indexes();
  return !collection.dropped() &&
         std::any_of(indexes->begin(), indexes->end(), [&](const auto& one) { return one->number() == number; });
}

}  // namespace

std::vector<CollectionId> Past::collections_in(const storage::Table& table) const {
  std::vector<CollectionId> all;
  Transaction transaction(store_, Transaction::Mode::read);
  storage::TableCursor cursor = table.cursor(transaction);
  for (bool on = cursor.next(); on; on = cursor.seek(storage::catalog_key(all.back() + 1))) {
    const BytesView key = cursor.key();
    if (key.size() < sizeof(CollectionId)) break;
    all.push_back(__builtin_bswap32(base::load_le<uint32_t>(key.data())));
  }
  return all;
}

bool Past::untidy() const {
  if (!made_.load(std::memory_order_acquire)) return false;
  return !snapshots_.dropped().empty() ||
         store_.declared_snapshots().position_before(store_.engine().all_committed()) != sealed_below_;
}

void Past::seal() {
  if (!made_.load(std::memory_order_acquire)) return;
  const base::MutexLock one_at_a_time(tidying_);
  // All writers with timestamps before this snapshot are done, and none adds anything below it.
  const Stamp below = store_.declared_snapshots().position_before(store_.engine().all_committed());
  if (below == sealed_below_) return;
  for (const CollectionId collection : collections_in(rows_)) {
    storage::in_transaction(store_, [&](Transaction& transaction) { log(collection).seal(transaction, below); });
  }
  sealed_below_ = below;
}

// The descriptions of all indexes that may have entries of the collection's kept contents.
storage::StoredIndexes Past::indexes_ever(const storage::StoredCollection& collection) const {
  std::map<uint32_t, storage::IndexEntry> entries;
  const auto note = [&](const storage::CollectionEntry& entry) {
    if (entry.id != collection.id()) return;
    for (const storage::IndexEntry& index : entry.indexes) {
      if (index.ready) entries.insert_or_assign(index.number, index);
    }
  };
  {
    Transaction transaction(store_, Transaction::Mode::read);
    store_.past_catalog().each_entry(transaction, note);
  }
  note(collection.entry());
  storage::StoredIndexes indexes;
  for (const auto& [number, entry] : entries) indexes.push_back(store_.catalog().index_as_of(collection, entry));
  return indexes;
}

// Releases what left a row while snapshots from `from` to `end` were the newest, except what `shown`, the newest snapshot left
// before them, may show. Contents that left together are released together.
void Past::release(CollectionId collection, Stamp from, Stamp end, Stamp shown, const std::function<void()>& interrupted) {
  const auto stored = store_.catalog().stored(collection);
  if (!stored) return;  // its tables are gone, and all that was in them
  storage::StoredIndexes indexes;
  Maplog::Place place;
  for (bool more = true; more;) {
    struct Left {
      Mapping mapping;
      SnapshotId place;
    };
    std::vector<Left> some;
    if (interrupted) interrupted();
    {
      Transaction transaction(store_, Transaction::Mode::read);
      size_t looked = 0;
      const auto look = [&](SnapshotId left_at, const Mapping& mapping) {
        more = looked++ == looked_at;
        if (!more && mapping.content > shown) some.push_back({mapping, left_at});
        return !more;
      };
      more = false;
      log(collection).each(transaction, from, end, look, &place);
    }
    if (indexes.empty() && !some.empty()) indexes = indexes_ever(*stored);
    for (size_t i = 0; i < some.size(); i += batch) {
      if (interrupted) interrupted();
      storage::in_transaction(store_, [&](Transaction& transaction) {
        for (size_t at = i; at < std::min(some.size(), i + batch); ++at)
          release_group(transaction, *stored, indexes, some[at].mapping, some[at].place);
      });
    }
  }
}

void Past::release_group(Transaction& transaction, storage::StoredCollection& collection, const storage::StoredIndexes& indexes,
                         const Mapping& mapping, Stamp place) {
  Mapping newest = mapping;  // the content is alone, in another record's chain
  collection.records().each_kept(transaction, mapping.row, mapping.content, [&](Stamp first) {
    if (first <= place) newest.content = first;  // the mapping is then of the contents that left later
    return false;
  });
  release_one(transaction, collection, indexes, newest);
}

std::vector<Mapping> Past::release_one(Transaction& transaction, storage::StoredCollection& collection,
                                       const storage::StoredIndexes& indexes, const Mapping& newest) {
  const RecordId chain = chain_of(transaction, collection.id(), newest);
  const auto contents = collection.records().release(transaction, newest.row, newest.content, chain);
  if (contents.empty()) return {};
  if (chain != newest.row) chains_.remove(transaction, content_key(collection.id(), newest));
  bool last = true;
  each_kept(transaction, collection, newest.row, [&](const Mapping&) { return last = false; });
  std::vector<Mapping> released;
  for (const auto& [generation, content] : contents) {
    released.push_back({newest.row, generation});
    for (const auto& index : indexes) {
      if (index->is_id() && !last) continue;
      entries_.remove(transaction, collection.id(), *index, bson::DocumentView(content), newest.row,
                      index->is_id() ? 0 : generation);
    }
  }
  return released;
}

// Removes what is kept of collections and indexes that no snapshot shows any more. If there is no snapshot, that is everything,
// once the sweep has passed all dropped ones. A snapshot that was declared and dropped meanwhile is found by what would go.
void Past::forget_gone(size_t swept) {
  // It looks within a transaction, so what is written after that began stays.
  const auto none_left = [&] { return store_.declared_snapshots().all().empty() && snapshots_.dropped().size() == swept; };
  for (const CollectionId collection : collections_in(rows_)) {
    storage::in_transaction(store_, [&](Transaction& transaction) {
      if (store_.catalog().stored(collection) && !none_left()) return;
      const Bytes from = storage::catalog_key(collection), to = storage::catalog_key(collection + 1);
      rows_.truncate(transaction, from, to);
      chains_.truncate(transaction, from, to);
      purged_rows_.truncate(transaction, from, to);
    });
  }
  for (const auto& [collection, index] : entries_.indexes(store_)) {
    storage::in_transaction(store_, [&](Transaction& transaction) {
      const auto stored = store_.catalog().stored(collection);
      const bool there =
          stored && (store_.past_catalog().lists_index(transaction, collection, index) || has_index(*stored, index));
      if (!there || none_left()) entries_.remove_all(transaction, collection, index);
    });
  }
}

void Past::sweep(const std::function<void()>& interrupted) {
  if (!made_.load(std::memory_order_acquire)) return;
  const base::MutexLock one_at_a_time(tidying_);
  const std::vector<DeclaredSnapshot> dropped = snapshots_.dropped();
  if (dropped.empty()) return;
  // It waits for writers that may still keep something for the dropped snapshots.
  for (const Stamp last = store_.engine().last_stamp(); store_.engine().all_committed() <= last;) {
    if (interrupted) interrupted();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  // Later writes have timestamps behind the horizon.
  const Stamp horizon = store_.engine().last_stamp() + 1;
  const std::vector<Stamp> left = store_.declared_snapshots().all();
  // If no snapshot is left, all goes, also what was kept under the timestamp of a snapshot whose declaration was rolled back.
  if (left.empty()) {
    for (const CollectionId collection : collections_in(rows_)) release(collection, 0, horizon, 0, interrupted);
  }
  for (const DeclaredSnapshot& one : dropped) {
    if (left.empty()) break;
    const auto next = std::upper_bound(left.begin(), left.end(), one.stamp);
    const Stamp shown = next == left.begin() ? 0 : *std::prev(next), end = next == left.end() ? horizon : *next;
    for (const CollectionId collection : collections_in(rows_)) release(collection, one.stamp, end, shown, interrupted);
  }
  states_.keep_only_declared(store_);
  lost_.keep_only_declared();
  store_.catalog().forget_past();
  forget_gone(dropped.size());
  storage::in_transaction(store_, [&](Transaction& transaction) {
    for (const DeclaredSnapshot& one : dropped) snapshots_.swept(transaction, one.number);
  });
}

}  // namespace versions::past
