#include "versions/branch/version_first.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/varint.h"
#include "storage/engine/interruptible_waits.h"
#include "versions/branch/scans.h"
#include "versions/branch/segment_walk.h"

namespace versions {

namespace {

const std::shared_ptr<const Bitmap>& nothing() {
  static const auto none = std::make_shared<const Bitmap>();
  return none;
}

Bytes state_key(State state) {
  Bytes key;
  base::append_be64(key, state);
  return key;
}

// Walks from the newest entry to the oldest, and gives each key once.
class LineageScan : public Scan {
 public:
  LineageScan(RecordStore& records, Transaction& transaction, const Table& entries, std::shared_ptr<const Lineage> lineage)
      : records_(records),
        transaction_(transaction),
        lineage_(std::move(lineage)),
        walk_(records, transaction, entries, places(*lineage_)) {}

  bool next() override {
    for (storage::InterruptibleLoop loop; walk_.next(); loop.pass()) {
      if (!lineage_->has(walk_.id()) || !seen_.insert(walk_.key()).second) continue;
      record_ = walk_.is_record() ? walk_.id() : walk_.entry().adopted;
      adopted_.reset();
      if (record_ != 0) return true;
    }
    return false;
  }
  RecordId record() const override { return record_; }
  BytesView content() override {
    if (walk_.is_record()) return walk_.content();
    if (!adopted_) adopted_ = records_.find(transaction_, record_).value_or(Bytes());
    return *adopted_;
  }

 private:
  static std::vector<std::pair<Segment, uint32_t>> places(const Lineage& lineage) {
    std::vector<std::pair<Segment, uint32_t>> places;
    for (const Stretch& stretch : lineage.stretches) places.emplace_back(stretch.segment, stretch.limit);
    return places;
  }

  RecordStore& records_;
  Transaction& transaction_;
  std::shared_ptr<const Lineage> lineage_;
  SegmentWalk walk_;
  std::unordered_set<Bytes> seen_;
  RecordId record_ = 0;
  std::optional<Bytes> adopted_;  // the content of an adopted record, once somebody has asked for it
};

// The segments of all lineages, each up to the place that its lineage has, in an order in which children come before parents.
class ManyLineages {
 public:
  ManyLineages(RecordStore& records, Transaction& transaction, const Table& entries,
               std::vector<std::shared_ptr<const Lineage>> lineages)
      : lineages_(std::move(lineages)),
        walk_(records, transaction, entries, places(lineages_)),
        shown_((lineages_.size() + 63) / 64) {}

  // Goes to the next entry of whose key some view hasn't met a newer one; `shown` says which views.
  bool next() {
    for (storage::InterruptibleLoop loop; walk_.next(); loop.pass()) {
      if (segment_of(walk_.id()) != segment_ || stretches_.empty()) enter(segment_of(walk_.id()));
      const uint32_t offset = offset_of(walk_.id());
      std::vector<uint64_t>* seen = nullptr;
      bool any = false;
      std::fill(shown_.begin(), shown_.end(), 0);
      for (size_t i = 0; i < stretches_.size(); ++i) {
        const Stretch* stretch = stretches_[i];
        if (!stretch || offset > stretch->limit || stretch->hidden->contains(offset)) continue;
        if (!seen) seen = &seen_.try_emplace(walk_.key(), shown_.size()).first->second;
        const uint64_t bit = uint64_t{1} << (i % 64);
        if ((*seen)[i / 64] & bit) continue;
        (*seen)[i / 64] |= bit;
        shown_[i / 64] |= bit;
        any = true;
      }
      if (any) return true;
    }
    return false;
  }
  SegmentWalk& walk() { return walk_; }
  const SegmentWalk& walk() const { return walk_; }
  const std::vector<uint64_t>& shown() const { return shown_; }

 private:
  static std::vector<std::pair<Segment, uint32_t>> places(const std::vector<std::shared_ptr<const Lineage>>& lineages) {
    std::map<Segment, uint32_t, std::greater<>> limits;
    for (const auto& lineage : lineages) {
      for (const Stretch& stretch : lineage->stretches) {
        uint32_t& limit = limits[stretch.segment];
        limit = std::max(limit, stretch.limit);
      }
    }
    return {limits.begin(), limits.end()};
  }
  void enter(Segment segment) {
    segment_ = segment;
    stretches_.clear();
    for (const auto& lineage : lineages_) stretches_.push_back(lineage->stretch(segment));
  }

  std::vector<std::shared_ptr<const Lineage>> lineages_;
  SegmentWalk walk_;
  Segment segment_ = 0;
  std::vector<const Stretch*> stretches_;  // of the segment, one for each view
  std::unordered_map<Bytes, std::vector<uint64_t>> seen_;
  std::vector<uint64_t> shown_;
};

class OnePassScan : public ManyScan {
 public:
  explicit OnePassScan(ManyLineages lineages) : lineages_(std::move(lineages)) {}

  bool next() override {
    while (lineages_.next()) {
      if (lineages_.walk().is_record()) return true;
    }
    return false;
  }
  RecordId record() const override { return lineages_.walk().id(); }
  BytesView content() override { return lineages_.walk().content(); }
  const std::vector<uint64_t>& shown_in() const override { return lineages_.shown(); }

 private:
  ManyLineages lineages_;
};

// The walk may have passed an adopted record before it learns that the record counts. So the first pass finds out which views
// show what, and the second reads the records by id.
class TwoPassScan : public ManyScan {
 public:
  TwoPassScan(RecordStore& records, Transaction& transaction, ManyLineages lineages, size_t words) : shown_(words) {
    auto set = std::make_shared<RecordSet>();
    while (lineages.next()) {
      const RecordId record = lineages.walk().is_record() ? lineages.walk().id() : lineages.walk().entry().adopted;
      if (record == 0) continue;
      set->add(record);
      auto& shown = by_record_.try_emplace(record, words).first->second;
      for (size_t i = 0; i < words; ++i) shown[i] |= lineages.shown()[i];
    }
    scan_.emplace(records, transaction, std::move(set));
  }

  bool next() override {
    if (!scan_->next()) return false;
    shown_ = by_record_.at(scan_->record());
    return true;
  }
  RecordId record() const override { return scan_->record(); }
  BytesView content() override { return scan_->content(); }
  const std::vector<uint64_t>& shown_in() const override { return shown_; }

 private:
  std::unordered_map<RecordId, std::vector<uint64_t>> by_record_;
  std::optional<SetScan> scan_;
  std::vector<uint64_t> shown_;
};

}  // namespace

// --- lineages

const Stretch* Lineage::stretch(Segment segment) const {
  const auto found = std::lower_bound(stretches.begin(), stretches.end(), segment,
                                      [](const Stretch& stretch, Segment wanted) { return stretch.segment > wanted; });
  return found != stretches.end() && found->segment == segment ? &*found : nullptr;
}

bool Lineage::has(RecordId id) const {
  const Stretch* in = stretch(segment_of(id));
  return in && offset_of(id) <= in->limit && !in->hidden->contains(offset_of(id));
}

VersionFirst::Row VersionFirst::row(Transaction& transaction, State state) const {
  const auto damaged = [&] {
    return base::OperationError(base::ErrorCode::data_corruption_detected, "state " + std::to_string(state) + " can't be read");
  };
  auto bytes = states().get(transaction, state_key(state));
  if (!bytes) throw damaged();
  uint64_t numbers[4];
  for (uint64_t& number : numbers) {
    const auto taken = base::take_varint(*bytes);
    if (!taken) throw damaged();
    number = *taken;
  }
  Row row{{static_cast<Segment>(numbers[0]), static_cast<uint32_t>(numbers[1]), nothing()}, numbers[2], numbers[3] != 0};
  const RecordSet hidden = read_set(*bytes).or_throw();
  if (const Bitmap* part = hidden.part(row.stretch.segment)) row.stretch.hidden = std::make_shared<const Bitmap>(*part);
  if (row.start >= state) throw damaged();
  return row;
}

void VersionFirst::put_row(Transaction& transaction, State state, const Row& row) const {
  Bytes bytes;
  for (const uint64_t number : {uint64_t{row.stretch.segment}, uint64_t{row.stretch.limit}, row.start, uint64_t{row.adopted}}) {
    base::append_varint(bytes, number);
  }
  RecordSet hidden;
  hidden.set_part(row.stretch.segment, *row.stretch.hidden);
  states().put(transaction, state_key(state), bytes + write_set(hidden));
}

std::shared_ptr<const Lineage> VersionFirst::lineage(Transaction& transaction, State state) {
  {
    const base::MutexLock lock(mutex_);
    if (const auto* lineage = lineages_.get(state)) return *lineage;
  }
  auto lineage = std::make_shared<Lineage>();
  for (State at = state; at != 0;) {
    const Row row = this->row(transaction, at);
    lineage->stretches.push_back(row.stretch);
    lineage->adopted |= row.adopted;
    at = row.start;
  }
  // Records from before the first branch may fill more than one segment.
  if (!lineage->stretches.empty() && lineage->stretches.back().segment < first_segment) {
    for (Segment segment = lineage->stretches.back().segment; segment-- > 0;)
      lineage->stretches.push_back({segment, UINT32_MAX, nothing()});
  }
  const base::MutexLock lock(mutex_);
  lineages_.put(state, lineage, 64 + lineage->stretches.size() * sizeof(Stretch));
  return lineage;
}

std::shared_ptr<const Lineage> VersionFirst::lineage(Transaction& transaction, const View& view) {
  auto committed = lineage(transaction, view.state);
  if (view.branch == BranchId::none) return committed;
  auto own = std::make_shared<Lineage>(*committed);
  const Stretch all{view.segment, UINT32_MAX, nothing()};
  if (!own->stretches.empty() && own->stretches.front().segment == view.segment) {
    own->stretches.front() = all;
  } else {
    own->stretches.insert(own->stretches.begin(), all);
  }
  return own;
}

void VersionFirst::begin(Transaction& transaction, State state, RecordId newest) {
  put_row(transaction, state, {{segment_of(newest), offset_of(newest), nothing()}, 0, false});
}

// --- reads

RecordId VersionFirst::find(Transaction& transaction, const View& view, BytesView key) {
  const auto lineage = this->lineage(transaction, view);
  RecordId found = 0;
  bool decided = false;
  each_entry(transaction, key, [&](RecordId id, BytesView value) -> RecordId {
    if (!lineage->has(id)) return id;
    decided = true;
    base::take_varint(value);
    found = value.empty() ? id : read_entry(value).adopted;
    return 0;
  });
  if (decided || !parts_.first_records) return found;
  const RecordId first = parts_.first_records(transaction, key);
  return first != 0 && lineage->has(first) ? first : 0;
}

bool VersionFirst::shows(Transaction& transaction, const View& view, RecordId record) {
  const auto content = this->content(transaction, record);
  return content && find(transaction, view, key_of(*content)) == record;
}

std::unique_ptr<Scan> VersionFirst::scan(Transaction& transaction, const View& view) {
  return std::make_unique<LineageScan>(parts_.records, transaction, entries(), lineage(transaction, view));
}

std::unique_ptr<ManyScan> VersionFirst::scan_many(Transaction& transaction, const std::vector<View>& views) {
  std::vector<std::shared_ptr<const Lineage>> lineages;
  bool adopted = false;
  for (const View& view : views) {
    lineages.push_back(lineage(transaction, view));
    adopted |= lineages.back()->adopted;
  }
  const size_t words = (views.size() + 63) / 64;
  ManyLineages many(parts_.records, transaction, entries(), std::move(lineages));
  if (!adopted) return std::make_unique<OnePassScan>(std::move(many));
  return std::make_unique<TwoPassScan>(parts_.records, transaction, std::move(many), words);
}

void VersionFirst::keys_between(Transaction& transaction, Segment segment, uint32_t first, uint32_t last,
                                const std::function<void(BytesView)>& each) {
  SegmentWalk walk(parts_.records, transaction, entries(), {{segment, last}});
  while (walk.next() && offset_of(walk.id()) >= first) each(walk.key());
}

// All differences lie behind the place where the lineages part; only keys that occur there can differ.
Difference VersionFirst::diff(Transaction& transaction, const View& a, const View& b) {
  const auto in_a = lineage(transaction, a), in_b = lineage(transaction, b);
  std::unordered_set<Bytes> keys;
  const auto collect = [&](BytesView key) { keys.emplace(key); };
  std::set<Segment> segments;
  for (const auto& lineage : {in_a, in_b}) {
    for (const Stretch& stretch : lineage->stretches) segments.insert(stretch.segment);
  }
  for (const Segment segment : segments) {
    const Stretch none{segment, 0, nothing()};
    const Stretch* one = in_a->stretch(segment);
    const Stretch* other = in_b->stretch(segment);
    if (!one) one = &none;
    if (!other) other = &none;
    if (*one == *other) continue;
    const auto [low, high] = std::minmax(one->limit, other->limit);
    if (low < high) keys_between(transaction, segment, low + 1, high, collect);
    for (const uint32_t offset : *one->hidden ^ *other->hidden) {
      if (offset <= low) keys_between(transaction, segment, offset, offset, collect);
    }
  }
  Difference difference;
  for (const Bytes& key : keys) {
    const RecordId record_a = find(transaction, a, key), record_b = find(transaction, b, key);
    if (record_a == record_b) continue;
    if (record_a != 0) difference.only_a.add(record_a);
    if (record_b != 0) difference.only_b.add(record_b);
  }
  return difference;
}

// --- writes

void VersionFirst::put_entry(Transaction& transaction, const View& view, BytesView key, RecordId adopted) {
  const RecordId id = allocate(transaction, view.segment);
  const Bytes entry = write_entry({adopted, Bytes(key)});
  entries().put(transaction, storage::record_key(id), entry);
  Bytes value;
  base::append_varint(value, 0);
  keys_.put(transaction, entry_key(key, id), value + write_entry({adopted, {}}));
}

void VersionFirst::now_hidden(Transaction& transaction, const View& view, BytesView key, RecordId) {
  if (!key.empty()) put_entry(transaction, view, key, 0);
}

RecordId VersionFirst::last_of(Transaction& transaction, Segment segment) {
  const RecordId record = BranchStore::last_of(transaction, segment);
  TableCursor cursor = entries().cursor(transaction);
  const bool on = cursor.seek_back(storage::record_key(record_at(segment, UINT32_MAX)));
  return on ? std::max(record, storage::record_from_key(cursor.key())) : record;
}

// The branch's segment, as this transaction sees it, becomes the state's.
void VersionFirst::close(Transaction& transaction, const View& view, State state, bool adopted) {
  Row row{{view.segment, 0, nothing()}, view.state, adopted};
  Bitmap hidden;
  if (view.state != 0) {
    const Row before = this->row(transaction, view.state);
    row.adopted |= before.adopted && before.stretch.segment == view.segment;
    if (before.stretch.segment == view.segment) {
      row.start = before.start;
      row.stretch.limit = before.stretch.limit;
      hidden = *before.stretch.hidden;
    }
  }
  // Records that were hidden may be there by now: their transaction was still open.
  Bitmap there;
  const auto look = [&](uint32_t first, uint32_t last) {
    SegmentWalk walk(parts_.records, transaction, entries(), {{view.segment, last}});
    while (walk.next() && offset_of(walk.id()) >= first) there.add(offset_of(walk.id()));
  };
  for (const uint32_t offset : hidden) look(offset, offset);
  look(row.stretch.limit + 1, UINT32_MAX);
  if (!there.isEmpty() && there.maximum() > row.stretch.limit) {
    hidden.addRange(uint64_t{row.stretch.limit} + 1, uint64_t{there.maximum()} + 1);
    row.stretch.limit = there.maximum();
  }
  hidden -= there;
  row.stretch.hidden = std::make_shared<const Bitmap>(std::move(hidden));
  put_row(transaction, state, row);
}

void VersionFirst::save_state(Transaction& transaction, const View& view, State state, const RecordSet&, const RecordSet&) {
  close(transaction, view, state, false);
}

void VersionFirst::save_adoption(Transaction& transaction, const View& view, State state, const Adoption& adoption,
                                 const RecordSet&, const RecordSet&) {
  std::unordered_set<BytesView> taken;
  for (const auto& [key, record] : adoption.adopted) {
    put_entry(transaction, view, key, record);
    taken.insert(key);
  }
  for (const auto& [key, document] : adoption.written) taken.insert(key);
  adoption.removed.for_each([&](RecordId record) {
    const auto content = this->content(transaction, record);
    if (!content) return;
    const Bytes key = key_of(*content);
    if (!taken.contains(key)) put_entry(transaction, view, key, 0);
  });
  close(transaction, view, state, !adoption.adopted.empty());
}

void VersionFirst::drop(Transaction&, const View&, Stamp) {
  throw base::OperationError(base::ErrorCode::illegal_operation, "in this layout no branch can drop a collection");
}

void VersionFirst::discarded(Transaction& transaction, const View& view) {
  const auto committed = lineage(transaction, view.state);
  TableCursor cursor = entries().cursor(transaction);
  std::vector<std::pair<RecordId, Bytes>> gone;
  storage::InterruptibleLoop loop;
  for (bool on = cursor.seek(storage::record_key(record_at(view.segment, 0))); on; on = cursor.next(), loop.pass()) {
    const RecordId id = storage::record_from_key(cursor.key());
    if (segment_of(id) != view.segment) break;
    if (!committed->has(id)) gone.emplace_back(id, read_entry(cursor.value()).key);
  }
  for (const auto& [id, key] : gone) {
    loop.pass();
    entries().remove(transaction, storage::record_key(id));
    keys_.remove(transaction, entry_key(key, id));
  }
}

}  // namespace versions
