#include "storage/collections/stored_collection.h"

#include <algorithm>

#include "base/error.h"
#include "storage/collections/covered_values.h"
#include "storage/contents/contents.h"
#include "storage/engine/internals.h"
#include "storage/engine/names.h"
#include "storage/indexes/wildcard_index.h"

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
  const base::MutexLock lock(mutex_);
  return entry_.ns;
}

CollectionEntry StoredCollection::entry() const {
  const base::MutexLock lock(mutex_);
  return entry_;
}

void StoredCollection::set_entry(const CollectionEntry& entry) {
  const base::MutexLock lock(mutex_);
  entry_ = entry;
  logged_ = !is_own(entry_.ns);
}

void StoredCollection::set_next_index(uint32_t number) {
  const base::MutexLock lock(mutex_);
  entry_.next_index = number;
}

// Writes that belong only to this member take no timestamp of the log, so they leave no gaps in its time: on a secondary the
// primary's entries have the timestamps in between.
Stamp StoredCollection::take_stamp(Transaction& transaction) const {
  const bool logged = logged_.load(std::memory_order_relaxed) || transaction.is_draft();
  return logged ? transaction.next_stamp() : transaction.unlogged_stamp();
}

void StoredCollection::set_options(const CollectionOptions& options) {
  const base::MutexLock lock(mutex_);
  options_given_.push_back(options);
  options_.store(&options_given_.back(), std::memory_order_release);
}

std::shared_ptr<const StoredIndexes> StoredCollection::stored_indexes() const {
  const base::MutexLock lock(mutex_);
  return indexes_;
}

void StoredCollection::set_indexes(std::shared_ptr<const StoredIndexes> indexes) {
  const base::MutexLock lock(mutex_);
  indexes_ = std::move(indexes);
  indexes_since_.store(engine_.last_stamp(), std::memory_order_release);
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

void StoredCollection::share(std::shared_ptr<Documents> view) {
  base::check(!view_, "a collection is shared once");
  const auto indexes = stored_indexes();
  for (const auto& index : *indexes) index->set_shared();
  view_ = std::move(view);
  shown_.store(view_.get(), std::memory_order_release);
}

void StoredCollection::require_room(int64_t more_bytes, size_t written_bytes) const {
  engine_.internals().require_room(more_bytes > 0 ? DiskUse::growth : DiskUse::release, written_bytes);
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
  if (transaction.is_draft()) return;
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

// This is a transaction of its own, committed at once: if the flag were part of the caller's transaction, another writer could
// rely on the flag in memory and outlive that transaction. One flag too many does no harm.
void StoredCollection::note_multikey(StoredIndex& index, uint32_t fields, const std::vector<std::string>& paths) {
  const uint32_t missing = fields & ~index.multikey_fields();
  if (!missing && paths.empty()) [[likely]]
    return;
  const std::vector<std::string> new_paths = index.multikey_path_set().missing(paths);
  if (!missing && new_paths.empty()) return;
  const bool all_paths = index.multikey_path_set().too_many(new_paths.size());
  const auto wildcard = index.spec().wildcard ? static_cast<uint32_t>(index.spec().wildcard->position) : 0;
  in_transaction(engine_, [&](Transaction& transaction) {
    for (uint32_t field = 0; field < 32; ++field) {
      if (missing >> field & 1) write_multikey(transaction, catalog_table_, id_, index.number(), field);
    }
    if (all_paths) return write_multikey_all_paths(transaction, catalog_table_, id_, index.number(), wildcard);
    for (const std::string& path : new_paths)
      write_multikey_path(transaction, catalog_table_, id_, index.number(), wildcard, path);
  });
  all_paths ? index.multikey_path_set().add_all() : index.multikey_path_set().add(new_paths);
  index.add_multikey_fields(missing);
}

// Throws DuplicateKey if another record has one of the keys.
static void check_free(Transaction& transaction, const StoredIndex& index, RecordId record, bson::DocumentView document,
                       const IndexKeys& keys, const std::string& ns) {
  for (const Bytes& key : keys.keys) {
    index.claim(transaction, key, 0);
    index.each_version(transaction, key, [&](RecordId other) {
      if (other != record) index.duplicate(ns, document, key);
      return true;
    });
  }
}

// After a duplicate key the call removes the entries that it made, so that the caller's transaction can go on.
void StoredCollection::index_document(Transaction& transaction, StoredIndex& index, RecordId record, bson::DocumentView document,
                                      const IndexKeys& keys) {
  note_multikey(index, keys.multikey_fields, keys.multikey_paths);
  if (index.prepares_unique()) [[unlikely]]
    check_free(transaction, index, record, document, keys, ns());
  for (size_t i = 0; i < keys.keys.size(); ++i) {
    if (index.insert(transaction, keys.keys[i], record, keys.types_at(i))) [[likely]]
      continue;
    for (size_t j = 0; j < i; ++j) index.remove(transaction, keys.keys[j], record);
    index.duplicate(ns(), document, keys.keys[i]);
  }
}

bool entries_have_values(const Collection& collection, const Index& index) {
  const auto* stored = dynamic_cast<const StoredCollection*>(&collection);
  const auto* entries = dynamic_cast<const StoredIndex*>(&index);
  return stored && entries && !stored->moves() && entries->tells_types() && !entries->spec().collator;
}

}  // namespace storage
