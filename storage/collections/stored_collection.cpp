#include "storage/collections/stored_collection.h"
#include "storage/collections/covered_values.h"

#include <algorithm>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/keystring.h"
#include "storage/contents/contents.h"
#include "storage/contents/pre_states.h"
#include "storage/engine/internals.h"
#include "storage/engine/names.h"

namespace storage {

StoredCollection::StoredCollection(CollectionServices& services, Table catalog_table, CollectionEntry entry,
                                   std::shared_ptr<Counts> counts)
    : services_(services),
      engine_(services.contents.engine),
      catalog_table_(std::move(catalog_table)),
      id_(entry.id),
      uuid_(entry.uuid),
      options_given_{entry.options},
      options_(&options_given_.back()),
      entry_(std::move(entry)),
      indexes_(std::make_shared<StoredIndexes>()),
      counts_(std::move(counts)),
      records_(services.contents, id_, entry_.options.dedup.profile),
      logged_(!is_own(entry_.ns)) {}

std::string StoredCollection::ns() const {
  std::lock_guard lock(mutex_);
  return entry_.ns;
}

CollectionEntry StoredCollection::entry() const {
  std::lock_guard lock(mutex_);
  return entry_;
}

void StoredCollection::set_entry(const CollectionEntry& entry) {
  std::lock_guard lock(mutex_);
  entry_ = entry;
  logged_ = !is_own(entry_.ns);
}

// Writes that belong only to this member take no timestamp of the log, so they leave no gaps in its time: on a secondary the
// primary's entries have the timestamps in between.
Stamp StoredCollection::take_stamp(Transaction& transaction) const {
  return logged_.load(std::memory_order_relaxed) ? transaction.next_stamp() : transaction.unlogged_stamp();
}

void StoredCollection::set_options(const CollectionOptions& options) {
  std::lock_guard lock(mutex_);
  options_given_.push_back(options);
  options_.store(&options_given_.back(), std::memory_order_release);
}

std::shared_ptr<const StoredIndexes> StoredCollection::stored_indexes() const {
  std::lock_guard lock(mutex_);
  return indexes_;
}

void StoredCollection::set_indexes(std::shared_ptr<const StoredIndexes> indexes) {
  std::lock_guard lock(mutex_);
  indexes_ = std::move(indexes);
}

std::vector<std::shared_ptr<const Index>> StoredCollection::indexes() const {
  const auto stored = stored_indexes();
  return {stored->begin(), stored->end()};
}

std::shared_ptr<const Index> StoredCollection::index(std::string_view name) const {
  const auto indexes = stored_indexes();  // a loop over a temporary would not keep it
  for (const auto& index : *indexes) {
    if (index->spec().name == name) return index;
  }
  return nullptr;
}

void StoredCollection::take_turn(Transaction& transaction) {
  if (!turn_.take(transaction)) return;
  const auto give_back = [self = shared_from_this()] { self->turn_.give_back(); };
  transaction.after_commit(give_back);
  transaction.after_rollback(give_back);
}

void StoredCollection::share(std::shared_ptr<Collection> view) {
  base::check(!moves(), "a collection is shared once");
  const auto indexes = stored_indexes();
  for (const auto& index : *indexes) index->set_shared();
  view_owned_ = std::move(view);
  view_.store(view_owned_.get(), std::memory_order_release);
}

int64_t StoredCollection::record_count() const {
  const Collection* const view = view_.load(std::memory_order_acquire);
  return view ? view->record_count() : stored_records();
}

int64_t StoredCollection::logical_bytes() const {
  const Collection* const view = view_.load(std::memory_order_acquire);
  return view ? view->logical_bytes() : stored_bytes();
}

std::optional<RecordId> StoredCollection::current(Transaction& transaction, RecordId id) {
  Collection* const view = view_.load(std::memory_order_acquire);
  return view ? view->current(transaction, id) : id;
}

Stored StoredCollection::insert(Transaction& transaction, bson::DocumentView document) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->insert(transaction, document);
  const auto bytes = static_cast<int64_t>(document.size());
  require_room(bytes);
  const bool decides = !transaction.replays();
  if (options().capped && decides) take_turn(transaction);
  const Stamp stamp = take_stamp(transaction);
  const RecordId record = records_.insert(transaction, document.bytes(), stamp);
  try {
    add_entries(transaction, record, document);
  } catch (const WriteConflict&) {
    throw;  // the transaction is lost anyway
  } catch (...) {
    records_.remove(transaction, record);
    throw;
  }
  written(transaction, record, {}, {.records = 1, .bytes = bytes, .stamp = stamp}, document);
  return {record, stamp, options().capped && decides ? trim(transaction, record) : std::vector<bson::Document>()};
}

Updated StoredCollection::update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->update(transaction, id, before, after);
  const int64_t more_bytes = static_cast<int64_t>(after.size()) - static_cast<int64_t>(before.size());
  require_room(more_bytes);
  change_entries(transaction, id, before, after);
  const Stamp stamp = take_stamp(transaction);
  Superseded superseded = records_.update(transaction, id, after.bytes(), stamp, shown_before(stamp));
  save(transaction, id, superseded, stamp);
  written(transaction, id, superseded, {.bytes = more_bytes, .stamp = stamp}, after);
  return {id, stamp, std::move(superseded)};
}

Superseded StoredCollection::remove(Transaction& transaction, RecordId id, bson::DocumentView before) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->remove(transaction, id, before);
  const Stamp stamp = logged_.load(std::memory_order_relaxed) ? transaction.write_stamp() : 0;
  Superseded superseded = take_away(transaction, id, before, shown_before(stamp));
  save(transaction, id, superseded, stamp);
  return superseded;
}

void StoredCollection::purge(Transaction& transaction, RecordId id, bson::DocumentView before) {
  take_away(transaction, id, before, 0);
}

Superseded StoredCollection::take_away(Transaction& transaction, RecordId id, bson::DocumentView before, Stamp shown) {
  remove_entries(transaction, id, before);
  Superseded superseded = records_.remove(transaction, id, shown);
  written(transaction, id, superseded, {.records = -1, .bytes = -static_cast<int64_t>(before.size())}, {});
  return superseded;
}

Stamp StoredCollection::shown_before(Stamp write) const {
  return logged_.load(std::memory_order_relaxed) ? services_.contents.snapshots.newest_before(write) : 0;
}

void StoredCollection::save(Transaction& transaction, RecordId record, const Superseded& before, Stamp write) const {
  if (!before.tells_past()) [[likely]]
    return;
  PreStates* const keeper = services_.contents.pre_states;
  base::check(keeper != nullptr, "who declares snapshots keeps what they show");
  keeper->save(transaction, *this, record, before, write);
}

void StoredCollection::require_room(int64_t more_bytes) const {
  if (more_bytes > 0) engine_.internals().space.require_room();
}

void StoredCollection::count(Transaction& transaction, const Change& change) {
  transaction.session().counts.add(id_, counts_, change.records, change.bytes,
                                   logged_.load(std::memory_order_relaxed) ? change.stamp : 0);
}

void StoredCollection::written(Transaction& transaction, RecordId record, const Superseded& superseded, const Change& change,
                               bson::DocumentView document) {
  count(transaction, change);
  report(transaction, record, superseded, change.stamp, document);
}

void StoredCollection::correct_counts(int64_t records, int64_t bytes) {
  in_transaction(engine_, [&](Transaction& transaction) {
    count(transaction, {.records = records - counts_->records.load(), .bytes = bytes - counts_->bytes.load()});
  });
}

void StoredCollection::report(Transaction& transaction, RecordId record, const Superseded& superseded, Stamp after,
                              bson::DocumentView document) {
  // Dedup that is switched off at run time keeps reports for later. If it was off from the start, it has nothing to do until it
  // is switched on.
  WriteObserver* const observer = services_.observer.load(std::memory_order_relaxed);
  if (!observer || !observer->listens()) return;
  std::optional<Bytes> content;
  if (after && options().dedup.enabled && observer->wants(*this, document.size())) content = document.bytes();
  transaction.after_commit([self = shared_from_this(), observer, record, before = superseded.generation,
                            is_base = superseded.is_base, after, content = std::move(content)]() mutable {
    if (after) {
      observer->written(self, record, after, before, is_base, std::move(content));
    } else {
      observer->removed(self, record, before);
    }
  });
}

std::optional<bson::Document> StoredCollection::find(Transaction& transaction, RecordId id, ReadInfo* info) {
  std::optional<Bytes> content = records_.find(transaction, id, info);
  if (!content) return std::nullopt;
  return bson::Document(std::move(*content));
}

std::optional<RecordId> StoredCollection::find_id(Transaction& transaction, const bson::ValueView& id) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->find_id(transaction, id);
  const auto indexes = stored_indexes();
  if (indexes->empty() || !indexes->front()->is_id()) return std::nullopt;
  bson::KeyString key;
  key.append(id);
  return indexes->front()->find(transaction, key.bytes());
}

std::optional<Bytes> StoredCollection::find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->find_version(transaction, id, generation);
  return Collection::find_version(transaction, id, generation);
}

std::unique_ptr<CollectionScan> StoredCollection::scan(Transaction& transaction, Direction direction) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->scan(transaction, direction);
  return make_collection_scan(shared_from_this(), transaction, direction);
}

std::unique_ptr<IndexCursor> StoredCollection::scan(Transaction& transaction, const Index& index, Direction direction) {
  if (Collection* const view = view_.load(std::memory_order_acquire)) return view->scan(transaction, index, direction);
  return static_cast<const StoredIndex&>(index).cursor(transaction, direction);
}

// This is a transaction of its own, committed at once: if the flag were part of the caller's transaction, another writer could
// rely on the flag in memory and outlive that transaction. One flag too many does no harm.
void StoredCollection::note_multikey(StoredIndex& index, uint32_t fields) {
  const uint32_t missing = fields & ~index.multikey_fields();
  if (!missing) [[likely]]
    return;
  in_transaction(engine_, [&](Transaction& transaction) {
    for (uint32_t field = 0; field < 32; ++field) {
      if (missing >> field & 1) catalog_table_.put(transaction, multikey_key(id_, index.number(), field), {});
    }
  });
  index.add_multikey_fields(missing);
}

// After a duplicate key the call removes the entries that it made, so that the caller's transaction can go on.
void StoredCollection::index_document(Transaction& transaction, StoredIndex& index, RecordId record, bson::DocumentView document,
                                      const IndexKeys& keys) {
  note_multikey(index, keys.multikey_fields);
  for (size_t i = 0; i < keys.keys.size(); ++i) {
    if (index.insert(transaction, keys.keys[i], record, keys.types_at(i))) [[likely]]
      continue;
    for (size_t j = 0; j < i; ++j) index.remove(transaction, keys.keys[j], record);
    index.duplicate(ns(), document, keys.keys[i]);
  }
}

void StoredCollection::add_entries(Transaction& transaction, RecordId record, bson::DocumentView document) {
  const auto indexes = stored_indexes();
  IndexKeys keys;
  size_t done = 0;
  try {
    for (; done < indexes->size(); ++done) {
      StoredIndex& index = *(*indexes)[done];
      index.keys_of(document, keys);
      index_document(transaction, index, record, document, keys);
    }
  } catch (const WriteConflict&) {
    throw;
  } catch (...) {
    for (size_t i = 0; i < done; ++i) {
      (*indexes)[i]->keys_of(document, keys);
      for (const Bytes& key : keys.keys) (*indexes)[i]->remove(transaction, key, record);
    }
    throw;
  }
}

void StoredCollection::remove_entries(Transaction& transaction, RecordId record, bson::DocumentView document) {
  IndexKeys keys;
  const auto indexes = stored_indexes();
  for (const auto& index : *indexes) {
    index->keys_of(document, keys);
    for (const Bytes& key : keys.keys) index->remove(transaction, key, record);
  }
}

// This call touches only entries that differ.
void StoredCollection::change_entries(Transaction& transaction, RecordId record, bson::DocumentView before,
                                      bson::DocumentView after) {
  std::vector<std::pair<StoredIndex*, EntryChanges>> changes;
  IndexKeys old_keys, new_keys;
  const auto indexes = stored_indexes();
  for (const auto& index : *indexes) {
    index->keys_of(before, old_keys);
    index->keys_of(after, new_keys);
    if (old_keys.keys == new_keys.keys && old_keys.types == new_keys.types) {
      note_multikey(*index, new_keys.multikey_fields);
      continue;
    }
    changes.emplace_back(index.get(), entry_changes(old_keys, new_keys));
  }
  const auto retype = [&](const StoredIndex& index, const IndexKeys& keys) {
    for (size_t i = 0; i < keys.keys.size(); ++i) index.retype(transaction, keys.keys[i], record, keys.types_at(i));
  };
  size_t done = 0;
  try {
    for (; done < changes.size(); ++done) {
      auto& [index, change] = changes[done];
      for (const Bytes& key : change.gone.keys) index->remove(transaction, key, record);
      retype(*index, change.are);
      index_document(transaction, *index, record, after, change.come);
    }
  } catch (const WriteConflict&) {
    throw;
  } catch (...) {
    for (size_t i = 0; i <= done && i < changes.size(); ++i) {
      auto& [index, change] = changes[i];
      // The failing index has removed its new keys itself.
      if (i < done) {
        for (const Bytes& key : change.come.keys) index->remove(transaction, key, record);
      }
      retype(*index, change.were);
      for (size_t j = 0; j < change.gone.keys.size(); ++j)
        index->insert(transaction, change.gone.keys[j], record, change.gone.types_at(j));
    }
    throw;
  }
}

bool entries_have_values(const Collection& collection, const Index& index) {
  const auto* stored = dynamic_cast<const StoredCollection*>(&collection);
  const auto* entries = dynamic_cast<const StoredIndex*>(&index);
  return stored && entries && !stored->moves() && entries->tells_types();
}

// Removes the oldest documents until the newest has room; the newest stays, however large it is.
std::vector<bson::Document> StoredCollection::trim(Transaction& transaction, RecordId newest) {
  const CountChanges& mine = transaction.session().counts;
  int64_t records = counts_->records.load() + mine.records(id_);
  int64_t bytes = counts_->bytes.load() + mine.bytes(id_);
  const auto full = [&] {
    return bytes > options().capped_bytes || (options().capped_records > 0 && records > options().capped_records);
  };
  std::vector<bson::Document> pushed_out;
  if (!full()) return pushed_out;
  // Stepping over the removed ones again and again would be slow, so a scan starts at the hint. But an insert that committed
  // late may lie below the hint, so one trim in 256 starts at the beginning.
  const RecordId start = trims_.fetch_add(1) % 256 == 0 ? 0 : oldest_hint_.load();
  std::vector<std::pair<RecordId, bson::Document>> oldest;
  {
    RecordCursor cursor = records_.cursor(transaction);
    if (start > 0) cursor.seek_after(start - 1);
    while (full() && cursor.next() && cursor.id() != newest) {
      oldest.emplace_back(cursor.id(), bson::Document(Bytes(cursor.content())));
      records -= 1;
      bytes -= static_cast<int64_t>(oldest.back().second.size());
    }
  }
  if (oldest.empty()) return pushed_out;
  for (const auto& [record, document] : oldest) {
    remove(transaction, record, document);
    bson::Builder id;
    id.append("_id", static_cast<bson::ValueView>(document.view().find("_id")));
    pushed_out.push_back(id.done());
  }
  transaction.after_commit([self = shared_from_this(), hint = oldest.back().first + 1] { self->oldest_hint_.store(hint); });
  return pushed_out;
}

}  // namespace storage
