#include "versions/branch/branch_store.h"

#include <algorithm>
#include <set>

#include "base/varint.h"
#include "storage/engine/engine.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/touch.h"
#include "versions/branch/bitmap_store.h"
#include "versions/branch/scans.h"
#include "versions/branch/tuple_oriented.h"
#include "versions/branch/version_first.h"

namespace versions {

namespace {

constexpr size_t record_bytes = 8;  // the RecordId at the end of a key

Table open_table(const StoreParts& parts, const std::string& kind) {
  storage::TableOptions options{.prefix_compression = true};
  // The rows of `pending` soon go again, and every walk passes over what is left of them until their page leaves memory. The page
  // must not be too small: a transaction whose rows outgrow a page tries to write the page out with each row.
  if (kind == "pending") options.memory_page_bytes = 4 << 20;
  return parts.engine.open_table("versions-" + std::to_string(parts.collection) + "-" + kind, options);
}

}  // namespace

std::unique_ptr<BranchStore> BranchStore::open(Layout layout, StoreParts parts) {
  switch (layout) {
    case Layout::tuple_first_by_tuple: return std::make_unique<TupleOriented>(std::move(parts));
    case Layout::version_first: return std::make_unique<VersionFirst>(std::move(parts));
    case Layout::tuple_first:  // the segments differ, which all branches share or none does
    case Layout::hybrid: break;
  }
  return std::make_unique<BitmapStore>(std::move(parts));
}

BranchStore::BranchStore(StoreParts parts, const std::vector<std::string>& more_tables)
    : parts_(std::move(parts)), keys_(open_table(parts_, "keys")), pending_(open_table(parts_, "pending")) {
  for (const std::string& kind : more_tables) more_.push_back(open_table(parts_, kind));
}

std::vector<std::string> BranchStore::table_names() const {
  std::vector<std::string> names{keys_.name(), pending_.name()};
  for (const Table& table : more_) names.push_back(table.name());
  return names;
}

// --- rows

Bytes BranchStore::entry_key(BytesView key, RecordId record) {
  Bytes bytes(key);
  base::append_be64(bytes, static_cast<uint64_t>(record));
  return bytes;
}

bool Held::has(Stamp stamp) const {
  return stamp < below || std::binary_search(others.begin(), others.end(), stamp);
}

std::optional<PendingKind> BranchStore::pending_kind(Transaction& transaction, BranchId branch, RecordId record) {
  const auto row = pending_.get(transaction, pending_key(branch, record));
  if (!row) return std::nullopt;
  return static_cast<PendingKind>(kind_of_row(*row));
}

BranchStore::Pending BranchStore::pending(Transaction& transaction, BranchId branch, const Held* held) {
  Pending pending;
  std::set<Stamp> others;
  pending.held.below = held ? held->below : transaction.visible_below();
  TableCursor cursor = pending_.cursor(transaction);
  storage::InterruptibleLoop loop;
  for (bool on = cursor.seek(pending_key(branch, 0)); on; on = cursor.next(), loop.pass()) {
    if (branch_of_key(cursor.key()) != branch) break;
    const RecordId record = record_of_key(cursor.key());
    const BytesView row = cursor.value();
    const char kind = kind_of_row(row);
    const Stamp stamp = stamp_of_row(row);
    if (held && !held->has(stamp)) {
      pending.others.emplace_back(cursor.key(), row);
      continue;
    }
    if (stamp >= pending.held.below) others.insert(stamp);
    if (parts_.past && branch != BranchId::none) pending.gone.push_back({record, kind, stamp});
    if (record == listing_at) {
      pending.listing = static_cast<Listing>(kind);
      continue;
    }
    if (kind == static_cast<char>(PendingKind::added)) {
      pending.added.add(record);
      continue;
    }
    pending.removed.add(record);
    pending.removed_keys.emplace_back(key_of_row(row));
  }
  pending.held.others.assign(others.begin(), others.end());
  return pending;
}

void BranchStore::save(Transaction& transaction, BranchId branch, const Gone& gone, Stamp write) {
  const Stamp shown = shown_before(write);
  storage::InterruptibleLoop loop;
  for (const GoneRow& row : gone) {
    loop.pass();
    if (row.since <= shown) parts_.past->save_pending(transaction, branch, row.record, row.kind, row.since, write);
  }
}

std::shared_ptr<void> BranchStore::stop_writers(BranchId branch, Stopped what) {
  const base::MutexLock lock(stop_mutex_);
  stopped_.emplace_back(branch, what);
  stops_.store(stopped_.size(), std::memory_order_release);
  return std::shared_ptr<void>(nullptr, [this, branch, what](void*) {
    const base::MutexLock again(stop_mutex_);
    stopped_.erase(std::find(stopped_.begin(), stopped_.end(), std::pair(branch, what)));
    stops_.store(stopped_.size(), std::memory_order_release);
  });
}

void BranchStore::look_for_stop(BranchId branch, Stopped what) {
  const base::MutexLock lock(stop_mutex_);
  for (const auto& [of, stopped] : stopped_) {
    if (of == branch && stopped >= what) throw storage::WriteConflict();
  }
}

Stamp BranchStore::keep_row(Transaction& transaction, BranchId branch, RecordId record, Stamp write) {
  const Stamp shown = shown_before(write);
  if (shown == 0) return 0;
  const auto row = pending_.get(transaction, pending_key(branch, record));
  if (!row) return shown;
  const Stamp since = stamp_of_row(*row);
  if (since <= shown) parts_.past->save_pending(transaction, branch, record, kind_of_row(*row), since, write);
  return shown;
}

bool BranchStore::has_pending(Transaction& transaction, BranchId branch) {
  TableCursor cursor = pending_.cursor(transaction);
  return cursor.seek(pending_key(branch, 0)) && branch_of_key(cursor.key()) == branch;
}

std::optional<Stamp> BranchStore::added_at(Transaction& transaction, BranchId branch, RecordId record) {
  const auto row = pending_.get(transaction, pending_key(branch, record));
  if (!row || kind_of_row(*row) != static_cast<char>(PendingKind::added)) return std::nullopt;
  return stamp_of_row(*row);
}

std::optional<Listing> BranchStore::listing(Transaction& transaction, BranchId branch, const Held* held) {
  const auto row = pending_.get(transaction, pending_key(branch, listing_at));
  if (!row || (held && !held->has(stamp_of_row(*row)))) return std::nullopt;
  return static_cast<Listing>(kind_of_row(*row));
}

void BranchStore::make(Transaction& transaction, BranchId branch, Stamp stamp) {
  const auto before = listing(transaction, branch);
  if (before && lists(*before)) return;
  keep_row(transaction, branch, listing_at, stamp);
  pending_.put(transaction, pending_key(branch, listing_at), pending_row(before ? Listing::made_anew : Listing::made, stamp));
}

void BranchStore::drop(Transaction& transaction, const View& view, Stamp stamp) {
  const auto before = listing(transaction, view.branch);
  closed(transaction, view);
  if (view.state != 0 || (before && hides(*before)))
    pending_.put(transaction, pending_key(view.branch, listing_at), pending_row(Listing::dropped, stamp));
}

void BranchStore::take(Transaction& transaction, const View& into, const View& from, Stamp stamp) {
  const Pending pending = this->pending(transaction, from.branch);
  base::check(from.state == 0 && pending.removed.empty(), "only what is new can become another branch's");
  save(transaction, from.branch, pending.gone, stamp);
  clear_pending(transaction, from.branch);
  const Bytes row = pending_row(PendingKind::added, stamp);
  pending.added.for_each([&](RecordId record) {
    now_hidden(transaction, from, {}, record);
    pending_.put(transaction, pending_key(into.branch, record), row);
    now_shown(transaction, into.branch, record);
  });
  make(transaction, into.branch, stamp);
}

View BranchStore::view_of(Transaction& transaction, State committed, BranchId branch, Segment segment) {
  const auto since = committed == 0 ? std::nullopt : listing(transaction, branch);
  return {.state = since && hides(*since) ? 0 : committed, .branch = branch, .segment = segment};
}

void BranchStore::claim(Transaction& transaction, BranchId branch, BytesView key) {
  // No record has such an id: the highest bit of a RecordId is 0.
  storage::touch(transaction, keys_, entry_key(key, static_cast<RecordId>(uint64_t{1} << 63 | static_cast<uint64_t>(branch))));
}

bool BranchStore::takes_the_place(Transaction& transaction, TableCursor& entries, BytesView key, const RecordSet& removed) const {
  constexpr int newest = 4;  // further back a claim costs less than a look
  bool on = entries.seek_back(entry_key(key, storage::record_id_max));
  for (int i = 0; on && i < newest; ++i, on = entries.previous()) {
    const BytesView at = entries.key();
    if (at.size() != key.size() + record_bytes || !at.starts_with(key)) break;
    if (removed.contains(static_cast<RecordId>(base::load_be64(at.data() + key.size())))) return true;
  }
  const RecordId first = parts_.first_records ? parts_.first_records(transaction, key) : 0;
  return first != 0 && removed.contains(first);
}

RecordId BranchStore::last_of(Transaction& transaction, Segment segment) {
  auto cursor = parts_.records.cursor(transaction, storage::Direction::backward);
  cursor.seek_after(record_at(segment + 1, 0));
  return cursor.next() ? cursor.id() : 0;
}

RecordId BranchStore::last_given_out(Transaction& transaction, Segment segment) {
  const RecordId record = last_of(transaction, segment);
  // States may still name a purged record, so its number must not be given out again.
  TableCursor purged = pending_.cursor(transaction);
  if (!purged.seek_back(pending_key(BranchId::none, record_at(segment, UINT32_MAX)))) return record;
  return branch_of_key(purged.key()) == BranchId::none ? std::max(record, record_of_key(purged.key())) : record;
}

RecordId BranchStore::allocate(Transaction& transaction, Segment segment) {
  const base::MutexLock lock(mutex_);
  const auto [last, is_first] = last_offset_.try_emplace(segment, 0);
  if (is_first) {
    try {
      // The transaction may have removed the last records itself, and be rolled back: then they are there, and their numbers are
      // not free.
      Transaction others(transaction.engine(), Transaction::Mode::read);
      const RecordId record = std::max(last_given_out(transaction, segment), last_given_out(others, segment));
      if (record != 0 && segment_of(record) == segment) last->second = offset_of(record);
    } catch (...) {
      last_offset_.erase(last);
      throw;
    }
  }
  if (last->second == UINT32_MAX)
    throw base::OperationError(base::ErrorCode::operation_failed, "the branch's segment is full: 2^32 records");
  return record_at(segment, ++last->second);
}

void BranchStore::each_entry(Transaction& transaction, BytesView key, const std::function<RecordId(RecordId, BytesView)>& each) {
  TableCursor cursor = keys_.cursor(transaction);
  bool on = cursor.seek_back(entry_key(key, storage::record_id_max));
  while (on) {
    const BytesView at = cursor.key();
    if (at.size() != key.size() + record_bytes || !at.starts_with(key)) return;
    const auto record = static_cast<RecordId>(base::load_be64(at.data() + key.size()));
    const RecordId below = each(record, cursor.value());
    if (below == 0) return;
    on = below == record ? cursor.previous() : cursor.seek_back(entry_key(key, below - 1));
  }
}

// --- reads

RecordId BranchStore::find(Transaction& transaction, const View& view, BytesView key) {
  RecordId found = 0;
  each_entry(transaction, key, [&](RecordId record, BytesView) -> RecordId {
    if (!shows(transaction, view, record)) return record;
    found = record;
    return 0;
  });
  if (found == 0 && parts_.first_records) {
    const RecordId first = parts_.first_records(transaction, key);
    if (first != 0 && shows(transaction, view, first)) found = first;
  }
  return found;
}

std::optional<Bytes> BranchStore::get(Transaction& transaction, const View& view, BytesView key) {
  const RecordId record = find(transaction, view, key);
  return record == 0 ? std::nullopt : content(transaction, record);
}

std::unique_ptr<Scan> BranchStore::scan_set(Transaction& transaction, RecordSet set) {
  return std::make_unique<SetScan>(parts_.records, transaction, std::make_shared<const RecordSet>(std::move(set)));
}

std::vector<Version> BranchStore::history(Transaction& transaction, BytesView key) {
  std::vector<Version> versions;
  each_entry(transaction, key, [&](RecordId record, BytesView value) {
    const auto commit = base::take_varint(value);
    if (value.empty()) versions.push_back({record, commit.value_or(0)});  // otherwise the entry is no record
    return record;
  });
  if (const RecordId first = parts_.first_records ? parts_.first_records(transaction, key) : 0; first != 0)
    versions.push_back({first, 0});
  return versions;
}

// --- writes

RecordId BranchStore::insert_new(Transaction& transaction, const View& view, BytesView key, BytesView document, Stamp generation,
                                 uint64_t commit) {
  base::check(view.branch != BranchId::none, "a write on a branch");
  const RecordId record = allocate(transaction, view.segment);
  parts_.records.insert_at(transaction, record, document, generation);
  put_entry(transaction, key, record, commit);
  now_shown(transaction, view.branch, record);
  return record;
}

RecordId BranchStore::insert(Transaction& transaction, const View& view, BytesView document, Stamp generation) {
  check_not_stopped(view.branch, Stopped::writes);
  const Bytes key = key_of(document);
  claim(transaction, view.branch, key);
  if (find(transaction, view, key) != 0)
    throw base::OperationError(base::ErrorCode::duplicate_key, "the branch has a document of this _id");
  const RecordId record = insert_new(transaction, view, key, document, generation, 0);
  pending_.put(transaction, pending_key(view.branch, record), pending_row(PendingKind::added, generation));
  return record;
}

RecordId BranchStore::update(Transaction& transaction, const View& view, RecordId old, BytesView document, Stamp generation,
                             storage::Superseded* superseded) {
  const Bytes key = key_of(document);
  const Bytes old_row = pending_key(view.branch, old);
  if (pending_kind(transaction, view.branch, old) == PendingKind::added) {
    check_not_stopped(view.branch, Stopped::changes);
    const Stamp keep = keep_row(transaction, view.branch, old, generation);
    pending_.put(transaction, old_row,
                 pending_row(PendingKind::added, generation));  // a commit that folds it at the same time conflicts
    storage::Superseded before = parts_.records.update(transaction, old, document, generation, keep);
    save_content(transaction, old, before, generation);
    if (superseded) *superseded = std::move(before);
    return old;
  }
  check_not_stopped(view.branch, Stopped::writes);
  pending_.put(transaction, old_row, pending_row(PendingKind::removed, generation, key));
  now_hidden(transaction, view, {}, old);
  const RecordId record = insert_new(transaction, view, key, document, generation, 0);
  pending_.put(transaction, pending_key(view.branch, record), pending_row(PendingKind::added, generation));
  parts_.records.keep_as_delta(transaction, old, record);
  return record;
}

void BranchStore::remove(Transaction& transaction, const View& view, BytesView key, RecordId old, Stamp stamp,
                         storage::Superseded* superseded) {
  const Bytes row = pending_key(view.branch, old);
  if (pending_kind(transaction, view.branch, old) == PendingKind::added) {
    check_not_stopped(view.branch, Stopped::changes);
    storage::Superseded before = parts_.records.remove(transaction, old, keep_row(transaction, view.branch, old, stamp));
    save_content(transaction, old, before, stamp);
    if (superseded) *superseded = std::move(before);
    keys_.remove(transaction, entry_key(key, old));
    pending_.remove(transaction, row);
  } else {
    check_not_stopped(view.branch, Stopped::writes);
    pending_.put(transaction, row, pending_row(PendingKind::removed, stamp, key));
  }
  now_hidden(transaction, view, key, old);
}

// --- versions

void BranchStore::fold_added(Transaction& transaction, State state, const RecordSet& added, std::vector<DocumentHash>& changes) {
  Bytes commit;
  base::append_varint(commit, state);
  HashedDocuments hashed([&](Bytes key, const Hash& hash) { changes.push_back({std::move(key), hash}); });
  SetScan scan(parts_.records, transaction, std::make_shared<const RecordSet>(added));
  uint64_t count = 0;
  for (; scan.next(); ++count) {
    Bytes key = key_of(scan.content());
    keys_.put(transaction, entry_key(key, scan.record()), commit);
    hashed.add(std::move(key), scan.content());
  }
  hashed.finish();
  if (count != added.count())
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a record that was added to a branch is missing");
}

void BranchStore::fold_removed(Transaction& transaction, const Pending& pending, std::vector<DocumentHash>& changes) {
  size_t at = 0;
  storage::InterruptibleLoop loop;
  pending.removed.for_each([&](RecordId record) {
    loop.pass();
    Bytes key = pending.removed_keys[at++];
    if (key.empty()) {
      const auto content = this->content(transaction, record);
      if (content)
        key = key_of(*content);
      else if (!purged(transaction, record))
        throw base::OperationError(base::ErrorCode::data_corruption_detected,
                                   "record " + std::to_string(record) + " of a branch is missing");
    }
    if (!key.empty()) changes.push_back({std::move(key), std::nullopt});
  });
}

Folded BranchStore::commit(Transaction& transaction, const View& view, State state, const Held* held) {
  Pending pending = this->pending(transaction, view.branch, held);
  Folded folded;
  folded.state = view.state;
  if (held && !leaves_out())
    throw base::OperationError(base::ErrorCode::illegal_operation, "a state of this layout shows all that is pending");
  folded.held = std::move(pending.held);
  folded.listing = pending.listing;
  folded.gone = std::move(pending.gone);
  if (pending.empty()) return folded;
  folded.state = state;
  fold_added(transaction, state, pending.added, folded.changes);
  fold_removed(transaction, pending, folded.changes);
  clear_pending(transaction, view.branch);
  storage::InterruptibleLoop loop;
  for (const auto& [key, row] : pending.others) {
    loop.pass();
    pending_.put(transaction, key, row);
  }
  pending.removed |= purged_of(transaction, view.state).records;
  save_state(transaction, view, state, pending.added, pending.removed);
  return folded;
}

void BranchStore::hide(Transaction& transaction, const View& view, const RecordSet& removed) {
  storage::InterruptibleLoop loop;
  removed.for_each([&](RecordId record) {
    loop.pass();
    storage::touch(transaction, pending_, pending_key(view.branch, record));
    now_hidden(transaction, view, {}, record);
  });
}

// A transaction that inserts a document which the branch has must remove that first, and so meets the rows that hide() touches.
void BranchStore::claim_new(Transaction& transaction, TableCursor& entries, BranchId branch, BytesView key,
                            const RecordSet& removed) {
  if (!takes_the_place(transaction, entries, key, removed)) claim(transaction, branch, key);
}

void BranchStore::adopt(Transaction& transaction, const View& view, State state, const Adoption& adoption, const Named& named,
                        Stamp generation, const std::function<void()>& interrupted) {
  if (!named.empty() && !leaves_out())
    throw base::OperationError(base::ErrorCode::illegal_operation, "a state of this layout names what it shows");
  RecordSet added, removed = adoption.removed;
  hide(transaction, view, adoption.removed);
  TableCursor entries = keys_.cursor(transaction);
  const auto come = [&](BytesView key) {
    if (interrupted) interrupted();
    claim_new(transaction, entries, view.branch, key, adoption.removed);
  };
  for (const auto& [key, record] : adoption.adopted) {
    come(key);
    now_shown(transaction, view.branch, record);
    added.add(record);
  }
  for (const auto& [key, document] : adoption.written) {
    come(key);
    added.add(insert_new(transaction, view, key, document, generation, state));
  }
  // No branch shows these records, so nobody's writes meet them.
  if (!named.empty()) adopt_named(transaction, view, named, added, removed);
  save_adoption(transaction, view, state, adoption, added, removed);
}

void BranchStore::advance(Transaction& transaction, const View& view, State to) {
  const Difference difference = diff(transaction, {.state = view.state}, {.state = to});
  hide(transaction, view, difference.only_a);
  TableCursor entries = keys_.cursor(transaction);
  const auto scan = scan_set(transaction, difference.only_b);
  while (scan->next()) {
    claim_new(transaction, entries, view.branch, key_of(scan->content()), difference.only_a);
    now_shown(transaction, view.branch, scan->record());
  }
}

void BranchStore::discard(Transaction& transaction, const View& view) {
  const Pending pending = this->pending(transaction, view.branch);
  const Stamp write = pending.empty() ? 0 : stamp_of(transaction), keep = shown_before(write);
  if (!pending.empty()) save(transaction, view.branch, pending.gone, write);
  pending.added.for_each([&](RecordId record) {
    storage::ask_interrupted();  // documents may be large
    const auto content = this->content(transaction, record);
    if (content) keys_.remove(transaction, entry_key(key_of(*content), record));
    save_content(transaction, record, parts_.records.remove(transaction, record, keep), write);
    now_hidden(transaction, view, {}, record);
  });
  storage::InterruptibleLoop loop;
  pending.removed.for_each([&](RecordId record) {
    loop.pass();
    if (!purged(transaction, record)) now_shown(transaction, view.branch, record);
  });
  clear_pending(transaction, view.branch);
  discarded(transaction, view);
}

void BranchStore::opened(Transaction&, BranchId, State) {}
void BranchStore::closed(Transaction& transaction, const View& view) {
  discard(transaction, view);
}

}  // namespace versions
