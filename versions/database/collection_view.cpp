#include "versions/database/collection_view.h"

#include <algorithm>

#include "bson/keystring.h"
#include "storage/engine/engine.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/or_undo.h"
#include "versions/database/unique_keys.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;
using storage::Direction;
using storage::StoredIndex;

namespace {

[[noreturn]] void ended() {
  throw OperationError(ErrorCode::query_plan_killed, "a cursor over a branch keeps its transaction to its end");
}

// Walks in the order of RecordIds, or backwards.
class LiveScan final : public storage::CollectionScan {
 public:
  explicit LiveScan(std::unique_ptr<Scan> scan) : scan_(std::move(scan)) {}

  bool next() override {
    for (storage::InterruptibleLoop loop; scan_->next(); loop.pass()) {
      if (scan_->record() >= from_) return true;
    }
    return false;
  }
  RecordId record() const override { return scan_->record(); }
  bson::DocumentView document() override { return bson::DocumentView(scan_->content()); }
  void save() override {}
  void restore(Transaction&) override { ended(); }
  void seek(RecordId id) override { from_ = id; }

 private:
  std::unique_ptr<Scan> scan_;
  RecordId from_ = storage::record_id_min;
};

// States can only be walked forwards, so this looks at every record.
class BackwardScan final : public storage::CollectionScan {
 public:
  BackwardScan(Transaction& transaction, BranchStore& store, RecordStore& records, const View& view)
      : transaction_(transaction), store_(store), view_(view), cursor_(records.cursor(transaction, Direction::backward)) {}

  bool next() override {
    for (storage::InterruptibleLoop loop; cursor_.next(); loop.pass()) {
      if (store_.shows(transaction_, view_, cursor_.id())) return true;
    }
    return false;
  }
  RecordId record() const override { return cursor_.id(); }
  bson::DocumentView document() override { return bson::DocumentView(cursor_.content()); }
  storage::ReadInfo read_info() const override { return cursor_.info(); }
  void save() override {}
  void restore(Transaction&) override { ended(); }
  void seek(RecordId id) override {
    if (id < storage::record_id_max) cursor_.seek_after(id + 1);
  }

 private:
  Transaction& transaction_;
  BranchStore& store_;
  const View view_;
  storage::RecordCursor cursor_;
};

class LiveIndexCursor final : public storage::IndexCursor {
 public:
  LiveIndexCursor(Transaction& transaction, BranchStore& store, const View& view, std::unique_ptr<storage::IndexCursor> entries)
      : transaction_(transaction), store_(store), view_(view), entries_(std::move(entries)) {}

  void seek(const storage::KeyRange& range) override { entries_->seek(range); }
  bool next() override {
    for (storage::InterruptibleLoop loop; entries_->next(); loop.pass()) {
      if (store_.shows(transaction_, view_, entries_->record())) return true;
    }
    return false;
  }
  RecordId record() const override { return entries_->record(); }
  BytesView key() const override { return entries_->key(); }
  void save() override {}
  void restore(Transaction&) override { ended(); }

 private:
  Transaction& transaction_;
  BranchStore& store_;
  const View view_;
  std::unique_ptr<storage::IndexCursor> entries_;
};

// An index, and the keys that a write adds to it or removes from it.
struct Keys {
  StoredIndex* index;
  storage::IndexKeys keys;
};

// The keys of all indexes except that whose entries the BranchStore has. `before` are those that an update replaces.
std::vector<Keys> keys_of(storage::StoredCollection& base, bson::DocumentView document,
                          storage::KeyLimits limits = storage::KeyLimits::none, const std::vector<Keys>* before = nullptr) {
  std::vector<Keys> all;
  const auto indexes = base.stored_indexes();
  for (const auto& index : *indexes) {
    if (kept_by_store(*index)) continue;
    Keys& one = all.emplace_back(Keys{index.get(), {}});
    index->keys_of(document, one.keys, before ? limits.or_as((*before)[all.size() - 1].keys) : limits);
  }
  return all;
}

void add(Transaction& transaction, storage::StoredCollection& base, const std::vector<Keys>& all, RecordId record) {
  for (const Keys& one : all) {
    base.note_multikey(*one.index, one.keys.multikey_fields, one.keys.multikey_paths);
    for (const Bytes& key : one.keys.keys) one.index->add_version(transaction, key, record);
  }
}

void remove(Transaction& transaction, const std::vector<Keys>& all, RecordId record) {
  for (const Keys& one : all) {
    for (const Bytes& key : one.keys.keys) one.index->remove_version(transaction, key, record);
  }
}

void take_away(std::vector<Bytes>& keys, const std::vector<Bytes>& others) {
  std::vector<Bytes> left;
  std::set_difference(keys.begin(), keys.end(), others.begin(), others.end(), std::back_inserter(left));
  keys = std::move(left);
}

}  // namespace

// --- what views have in common

View SharedCollection::view_of(Transaction& transaction, CommitNumber commit) const {
  const auto held = graph.commit(transaction, commit);  // the graph may not keep it
  const CollectionState* state = held->state_of(base.id());
  return {.state = state ? state->state : 0};
}

View SharedCollection::view_of(Transaction& transaction, const Branch& branch) const {
  return store.view_of(transaction, view_of(transaction, branch.head).state, branch.id, branch.segment);
}

int64_t SharedCollection::records(Transaction& transaction, const View& view) {
  int64_t count = 0;
  if (view.state != 0) {
    std::optional<int64_t> known;
    {
      const base::MutexLock lock(mutex_);
      if (const auto* counted = counted_.get(view.state)) known = *counted;
    }
    if (!known) {
      known = static_cast<int64_t>(store.diff(transaction, View{}, View{.state = view.state}).only_b.count()) -
              holes_in(transaction, view.state);
      const base::MutexLock lock(mutex_);
      counted_.put(view.state, *known, 32);
    }
    count = *known;
  }
  // Bitmaps go on naming what was purged.
  store.purged_records(transaction).for_each([&](RecordId record) { count -= store.shows(transaction, view, record) ? 1 : 0; });
  if (view.branch == BranchId::none) return count;
  const BranchStore::Pending pending = store.pending(transaction, view.branch);
  return count + static_cast<int64_t>(pending.added.count()) - static_cast<int64_t>(pending.removed.count());
}

int64_t SharedCollection::records_beyond(Transaction& transaction, const View& other, const View& view) {
  RecordSet beyond = store.diff(transaction, other, view).only_b;
  beyond -= store.purged_records(transaction);
  // Records that the other view names too are in no difference; none of them is ever removed.
  return static_cast<int64_t>(beyond.count()) -
         std::max<int64_t>(0, holes_in(transaction, view.state) - holes_in(transaction, other.state));
}

int64_t SharedCollection::holes_in(Transaction& transaction, State state) {
  return holes != 0 && state != 0 && store.same_line(transaction, state, graph.first(transaction)) ? holes : 0;
}

// --- the view

CollectionView::CollectionView(std::shared_ptr<void> database, std::shared_ptr<SharedCollection> shared,
                               std::shared_ptr<storage::StoredCollection> base, std::string ns, ViewPlace place)
    : database_(std::move(database)),
      held_(std::move(shared)),
      shared_(*held_),
      base_(std::move(base)),
      ns_(std::move(ns)),
      place_(std::move(place)) {}

View CollectionView::view(Transaction& transaction) const {
  if (place_.id == BranchId::none) return shared_.view_of(transaction, place_.commit);
  const auto branch = shared_.graph.branch(transaction, place_.branch);
  if (!branch || branch->id != place_.id) {
    throw OperationError(ErrorCode::namespace_not_found, "branch '" + place_.branch + "' was dropped: " + ns_);
  }
  return shared_.view_of(transaction, *branch);
}

View CollectionView::readable(Transaction& transaction) const {
  View view = this->view(transaction);
  if (view.branch != BranchId::none && !shared_.store.has_pending(transaction, view.branch)) view.branch = BranchId::none;
  return view;
}

View CollectionView::writable(Transaction& transaction) const {
  if (read_only())
    throw OperationError(ErrorCode::illegal_operation, "cannot write to " + ns_ + ": " + std::string(read_only_because()));
  return view(transaction);
}

namespace {

// Throws DuplicateKey if the view shows a record other than `but` under one of the keys.
void check_unique(Transaction& transaction, BranchStore& store, const View& view, const std::string& ns,
                  const std::vector<Keys>& all, bson::DocumentView document, RecordId but) {
  for (const Keys& one : all) {
    if (!one.index->spec().unique && !one.index->prepares_unique()) continue;
    for (const Bytes& key : one.keys.keys) {
      one.index->claim(transaction, key, static_cast<uint32_t>(view.branch));
      each_rival(transaction, store, view, *one.index, key, but,
                 [&](RecordId) -> bool { one.index->duplicate(ns, document, key); });
    }
  }
}

}  // namespace

namespace {

[[noreturn]] void duplicate_id(const storage::StoredCollection& base, const std::string& ns, bson::DocumentView document) {
  const auto indexes = base.stored_indexes();
  storage::IndexKeys keys;
  indexes->front()->keys_of(document, keys);
  indexes->front()->duplicate(ns, document, keys.keys.front());
}

}  // namespace

storage::Stored CollectionView::insert(Transaction& transaction, bson::DocumentView document) {
  storage::StoredCollection& base = shared_.base;
  const View view = writable(transaction);
  const auto bytes = static_cast<int64_t>(document.size());
  base.require_room(bytes, document.size());
  const Bytes key = key_of(document.bytes());
  const std::vector<Keys> keys = keys_of(base, document, storage::KeyLimits::of_write(transaction.replays()));
  const Stamp stamp = base.take_stamp(transaction);
  RecordId record = 0;
  try {
    record = shared_.store.insert(transaction, view, document.bytes(), stamp);
  } catch (const OperationError& error) {
    if (error.code() == ErrorCode::duplicate_key) duplicate_id(base, ns_, document);
    throw;
  }
  storage::or_undo([&] { check_unique(transaction, shared_.store, view, ns_, keys, document, record); },
                   [&] { shared_.store.remove(transaction, view, key, record, stamp); });
  if (view.state == 0) shared_.store.make(transaction, view.branch, stamp);
  add(transaction, base, keys, record);
  base.written(transaction, record, {}, {.records = 1, .bytes = bytes, .stamp = stamp}, document);
  return {record, stamp, {}};
}

storage::Updated CollectionView::update(Transaction& transaction, RecordId id, bson::DocumentView before,
                                        bson::DocumentView after) {
  storage::StoredCollection& base = shared_.base;
  const View view = writable(transaction);
  const auto before_bytes = static_cast<int64_t>(before.size()), after_bytes = static_cast<int64_t>(after.size());
  base.require_room(after_bytes - before_bytes, after.size());
  const auto limits = storage::KeyLimits::of_write(transaction.replays());
  std::vector<Keys> gone = keys_of(base, before), come = keys_of(base, after, limits, &gone), whole = come;
  for (size_t i = 0; i < come.size(); ++i) {
    take_away(come[i].keys.keys, gone[i].keys.keys);
    take_away(gone[i].keys.keys, whole[i].keys.keys);
  }
  check_unique(transaction, shared_.store, view, ns_, come, after, id);
  const Stamp stamp = base.take_stamp(transaction);
  storage::Superseded superseded;
  const RecordId now = shared_.store.update(transaction, view, id, after.bytes(), stamp, &superseded);
  if (now == id) {
    versions::remove(transaction, gone, id);
    add(transaction, base, come, id);
    base.written(transaction, id, superseded, {.bytes = after_bytes - before_bytes, .stamp = stamp}, after);
  } else {
    add(transaction, base, whole, now);
    // Dedup isn't told. The store has compared the two versions already, and has kept the old one as a delta of this one, or as
    // it was (RecordStore::keep_as_delta).
    base.count(transaction, {.records = 1, .bytes = after_bytes, .stamp = stamp});
  }
  return {now, stamp, std::move(superseded)};
}

storage::Superseded CollectionView::remove(Transaction& transaction, RecordId id, bson::DocumentView before) {
  storage::StoredCollection& base = shared_.base;
  const View view = writable(transaction);
  const auto bytes = static_cast<int64_t>(before.size());
  base.require_room(-bytes);
  const std::vector<Keys> keys = keys_of(base, before);
  storage::Superseded superseded;
  shared_.store.remove(transaction, view, key_of(before.bytes()), id, base.take_stamp(transaction), &superseded);
  if (superseded.generation == 0) return superseded;  // another view goes on showing it
  versions::remove(transaction, keys, id);
  base.written(transaction, id, superseded, {.records = -1, .bytes = -bytes}, {});
  return superseded;
}

std::optional<bson::Document> CollectionView::find(Transaction& transaction, RecordId id, storage::ReadInfo* info) {
  return shared_.base.find(transaction, id, info);
}

std::optional<RecordId> CollectionView::current(Transaction& transaction, RecordId id) {
  const View view = this->view(transaction);
  if (shared_.store.shows(transaction, view, id)) return id;
  const auto content = shared_.base.records().find(transaction, id);
  if (!content) return std::nullopt;
  const RecordId now = shared_.store.find(transaction, view, key_of(*content));
  return now == 0 ? std::nullopt : std::optional(now);
}

std::optional<RecordId> CollectionView::find_id(Transaction& transaction, const bson::ValueView& id) {
  const auto indexes = shared_.base.stored_indexes();
  const StoredIndex& ids = *indexes->front();
  const View view = readable(transaction);
  bson::KeyString key;
  key.append(id, false, ids.spec().collator.get());
  RecordId record = 0;
  if (kept_by_store(ids)) {
    record = shared_.store.find(transaction, view, key.bytes());
  } else {
    each_rival(transaction, shared_.store, view, ids, key.bytes(), 0, [&](RecordId shown) {
      record = shown;
      return false;
    });
  }
  return record == 0 ? std::nullopt : std::optional(record);
}

std::optional<Bytes> CollectionView::find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) {
  bson::KeyString key;
  key.append(id);
  for (const Version& version : shared_.store.history(transaction, key.bytes())) {
    if (auto content = shared_.base.records().find(transaction, version.record, generation)) return content;
  }
  return std::nullopt;
}

std::unique_ptr<storage::CollectionScan> CollectionView::scan(Transaction& transaction, Direction direction) {
  const View view = readable(transaction);
  if (direction == Direction::forward) return std::make_unique<LiveScan>(shared_.store.scan(transaction, view));
  return std::make_unique<BackwardScan>(transaction, shared_.store, shared_.base.records(), view);
}

std::unique_ptr<storage::IndexCursor> CollectionView::scan(Transaction& transaction, const storage::Index& index,
                                                           Direction direction) {
  return std::make_unique<LiveIndexCursor>(transaction, shared_.store, readable(transaction),
                                           static_cast<const StoredIndex&>(index).cursor(transaction, direction));
}

int64_t CollectionView::record_count() const {
  Transaction transaction(shared_.base.engine(), Transaction::Mode::read);
  return std::max<int64_t>(0, shared_.records(transaction, view(transaction)));
}

int64_t CollectionView::logical_bytes() const {
  const int64_t records = stored_records();
  return records == 0 ? 0
                      : static_cast<int64_t>(static_cast<double>(stored_bytes()) / static_cast<double>(records) *
                                             static_cast<double>(record_count()));
}

void remove_entries(Transaction& transaction, storage::StoredCollection& base, RecordId record, bson::DocumentView document) {
  remove(transaction, keys_of(base, document), record);
  if (segment_of(record) >= first_segment) return;
  // The record was there before the first branch: the unique indexes, the one on _id included, have its entry in another form.
  const auto indexes = base.stored_indexes();
  for (const auto& index : *indexes) {
    if (!index->spec().unique) continue;
    storage::IndexKeys keys;
    index->keys_of(document, keys);
    for (const Bytes& key : keys.keys) {
      if (index->find(transaction, key) == record) index->remove(transaction, key, record);
    }
  }
}

void add_entries(Transaction& transaction, storage::StoredCollection& base, RecordId record, bson::DocumentView document) {
  add(transaction, base, keys_of(base, document), record);
}

}  // namespace versions
