#include "versions/branch/bitmap_store.h"

#include "versions/branch/scans.h"

namespace versions {

namespace {

std::vector<std::string> with_states(const std::vector<std::string>& more_tables) {
  std::vector<std::string> kinds{"states"};
  kinds.insert(kinds.end(), more_tables.begin(), more_tables.end());
  return kinds;
}

}  // namespace

BitmapStore::BitmapStore(StoreParts parts, const std::vector<std::string>& more_tables)
    : BranchStore(std::move(parts), with_states(more_tables)), history_(more_[0]) {}

void BitmapStore::begin(Transaction& transaction, State state, RecordId newest) {
  RecordSet all;
  if (newest >= storage::record_id_min) all.add_range(storage::record_id_min, newest);
  history_.append(transaction, state, 0, all);
}

bool BitmapStore::shows(Transaction& transaction, const View& view, RecordId record) {
  if (view.branch != BranchId::none) {
    if (const auto kind = pending_kind(transaction, view.branch, record)) return kind == PendingKind::added;
  }
  return history_.part(transaction, view.state, segment_of(record)).contains(offset_of(record));
}

RecordId BitmapStore::find(Transaction& transaction, const View& view, BytesView key) {
  // A pending record may lie in any segment; a state's records lie in segments that the state names.
  if (view.branch != BranchId::none) return BranchStore::find(transaction, view, key);
  RecordId found = 0;
  each_entry(transaction, key, [&](RecordId record, BytesView) -> RecordId {
    const Segment segment = segment_of(record);
    if (!history_.has_any(transaction, view.state, segment)) return record_at(segment, 0);
    const LivePart part = history_.part(transaction, view.state, segment);
    if (part.contains(offset_of(record))) {
      found = record;
      return 0;
    }
    return offset_of(record) > part.maximum() ? record_at(segment, part.maximum()) + 1 : record;
  });
  if (found == 0 && parts_.first_records) {
    const RecordId first = parts_.first_records(transaction, key);
    if (first != 0 && shows(transaction, view, first)) found = first;
  }
  return found;
}

std::shared_ptr<const RecordSet> BitmapStore::live(Transaction& transaction, const View& view) {
  auto set = history_.whole(transaction, view.state);
  if (view.branch == BranchId::none) return set;
  const Pending pending = this->pending(transaction, view.branch);
  if (pending.empty()) return set;
  auto own = std::make_shared<RecordSet>(*set);
  *own -= pending.removed;
  *own |= pending.added;
  return own;
}

std::unique_ptr<Scan> BitmapStore::scan(Transaction& transaction, const View& view) {
  return std::make_unique<SetScan>(parts_.records, transaction, live(transaction, view));
}

std::unique_ptr<ManyScan> BitmapStore::scan_many(Transaction& transaction, const std::vector<View>& views) {
  std::vector<std::shared_ptr<const RecordSet>> sets;
  for (const View& view : views) sets.push_back(live(transaction, view));
  return std::make_unique<ManySetScan>(parts_.records, transaction, std::move(sets));
}

Difference BitmapStore::diff(Transaction& transaction, const View& a, const View& b) {
  RecordSet changed = history_.between(transaction, a.state, b.state);
  for (const View* view : {&a, &b}) {
    if (view->branch == BranchId::none) continue;
    // The pending writes of a branch are another step on the way from one state to the other.
    const Pending pending = this->pending(transaction, view->branch);
    changed ^= pending.added;
    changed ^= pending.removed;
  }
  Difference difference;
  for (const auto& [segment, bitmap] : changed.parts()) {
    const LivePart state = history_.part(transaction, a.state, segment);
    Bitmap in_a = bitmap & *state.base;
    in_a ^= bitmap & *state.changed;
    difference.only_a.set_part(segment, std::move(in_a));
  }
  if (a.branch != BranchId::none) {
    Pending pending = this->pending(transaction, a.branch);
    pending.added &= changed;
    difference.only_a -= pending.removed;
    difference.only_a |= pending.added;
  }
  difference.only_b = std::move(changed);
  difference.only_b -= difference.only_a;
  return difference;
}

RecordSet BitmapStore::shown_by_any(Transaction& transaction, const std::vector<State>& states, const RecordSet& records) {
  RecordSet shown;
  for (const auto& [segment, bitmap] : records.parts()) {
    Bitmap left = bitmap, found;
    for (const State state : states) {
      if (left.isEmpty()) break;
      const LivePart part = history_.part(transaction, state, segment);
      Bitmap here = left & *part.base;
      here ^= left & *part.changed;
      left -= here;
      found |= here;
    }
    shown.set_part(segment, std::move(found));
  }
  return shown;
}

void BitmapStore::save_state(Transaction& transaction, const View& view, State state, const RecordSet& added,
                             const RecordSet& removed) {
  RecordSet changed = added;
  changed |= removed;
  history_.append(transaction, state, view.state, changed);
}

}  // namespace versions
