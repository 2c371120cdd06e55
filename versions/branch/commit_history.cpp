#include "versions/branch/commit_history.h"

#include <algorithm>

#include "base/varint.h"

namespace versions {

namespace {

// The branch-segment bitmap has this place among the segments. No record can lie there.
constexpr Segment all_segments = UINT32_MAX;

Bytes row_key(State state, unsigned layer) {
  Bytes key;
  base::append_be64(key, state);
  key.push_back(static_cast<char>(layer));
  return key;
}

[[noreturn]] void damaged(State state) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected,
                             "the history of state " + std::to_string(state) + " can't be read");
}

const LivePart& no_part() {
  static const LivePart none{std::make_shared<const Bitmap>(), std::make_shared<const Bitmap>()};
  return none;
}

}  // namespace

uint32_t LivePart::maximum() const {
  return std::max(base->isEmpty() ? 0 : base->maximum(), changed->isEmpty() ? 0 : changed->maximum());
}

uint64_t LivePart::count() const {
  return base->cardinality() + changed->cardinality() - 2 * base->and_cardinality(*changed);
}

CommitHistory::CommitHistory(Table table, size_t cache_bytes)
    : table_(std::move(table)), parts_(cache_bytes), wholes_(cache_bytes) {}

template <class Read>
CommitHistory::Step CommitHistory::step(Transaction& transaction, State state, unsigned layer, Read&& read) const {
  auto row = table_.get(transaction, row_key(state, layer));
  const auto step = row ? take_step(state, *row) : std::nullopt;
  if (!step) damaged(state);
  read(*row);
  return *step;
}

std::optional<CommitHistory::Step> CommitHistory::take_step(State state, BytesView& row) {
  const auto depth = base::take_varint(row);
  const auto distance = depth ? base::take_varint(row) : std::nullopt;
  if (!distance || *distance == 0 || *distance > state) return std::nullopt;
  return Step{*depth, state - *distance};
}

uint64_t CommitHistory::depth(Transaction& transaction, State state) const {
  return state == 0 ? 0 : step(transaction, state, 0, [](BytesView) {}).depth;
}

// The longest jump that a state of this depth has.
unsigned CommitHistory::layer_at(uint64_t depth) {
  unsigned layer = 0;
  while (layer + 1 < layers_max && depth % steps(layer + 1) == 0) ++layer;
  return layer;
}

void CommitHistory::put(Transaction& transaction, State state, unsigned layer, const Step& step, const RecordSet& changed) {
  Bytes row;
  base::append_varint(row, step.depth);
  base::append_varint(row, state - step.target);
  row += write_set(changed);
  table_.put(transaction, row_key(state, layer), row);
}

void CommitHistory::append(Transaction& transaction, State state, State parent, const RecordSet& changed) {
  base::check(state > parent, "a state above its parent");
  RecordSet all = changed;
  Bitmap segments;  // segments that became empty, or no longer are
  for (const auto& [segment, bitmap] : changed.parts()) {
    const bool had_any = has_any(transaction, parent, segment);
    if (!had_any) {
      segments.add(segment);
    } else if (const LivePart before = part(transaction, parent, segment);
               before.count() == bitmap.cardinality() && before.whole() == bitmap) {
      segments.add(segment);
    }
  }
  all.set_part(all_segments, std::move(segments));

  const uint64_t depth = this->depth(transaction, parent) + 1;
  put(transaction, state, 0, {depth, parent}, all);
  State target = parent;
  for (unsigned layer = 1; layer <= layer_at(depth); ++layer) {
    // `all` holds the jump of the layer below; fifteen more of them make a jump of this layer.
    for (uint64_t i = 1; i < steps(1); ++i) {
      target = step(transaction, target, layer - 1, [&](BytesView row) { all ^= read_set(row).or_throw(); }).target;
    }
    put(transaction, state, layer, {depth, target}, all);
  }
}

std::optional<LivePart> CommitHistory::cached(State state, Segment segment) {
  const base::MutexLock lock(mutex_);
  if (const LivePart* part = parts_.get({state, segment})) return *part;
  if (segment == all_segments) return std::nullopt;
  if (const auto* whole = wholes_.get(state)) {
    const Bitmap* bitmap = (*whole)->part(segment);
    return bitmap ? LivePart{{*whole, bitmap}, no_part().changed} : no_part();
  }
  return std::nullopt;
}

// Small changes stay beside the bitmap that they change, which other states share; large ones make a bitmap of their own.
LivePart CommitHistory::keep(State state, Segment segment, const LivePart& base, Bitmap changed) {
  LivePart part = base;
  if (!changed.isEmpty()) {
    changed ^= *base.changed;
    part.changed = std::make_shared<const Bitmap>(std::move(changed));
  }
  size_t cost = 160 + part.changed->getSizeInBytes();
  if (part.changed->getSizeInBytes() > 512 + part.base->getSizeInBytes() / 8) {
    part = {std::make_shared<const Bitmap>(part.whole()), no_part().changed};
    cost = 160 + part.base->getSizeInBytes();
  }
  const base::MutexLock lock(mutex_);
  parts_.put({state, segment}, part, cost);
  return part;
}

LivePart CommitHistory::part(Transaction& transaction, State state, Segment segment) {
  if (state == 0) return no_part();
  if (auto part = cached(state, segment)) return *part;

  Bitmap changed;
  const auto apply = [&](BytesView row) { changed ^= read_part(row, segment).or_throw(); };
  // One step comes first: if a line is being written, the parent is in the cache.
  const Step first = step(transaction, state, 0, apply);
  State at = first.target;
  uint64_t depth = first.depth - 1;
  for (; at != 0;) {
    if (auto part = cached(at, segment)) return keep(state, segment, *part, std::move(changed));
    const unsigned layer = layer_at(depth);
    at = step(transaction, at, layer, apply).target;
    depth -= steps(layer);
  }
  return keep(state, segment, no_part(), std::move(changed));
}

bool CommitHistory::has_any(Transaction& transaction, State state, Segment segment) {
  return part(transaction, state, all_segments).contains(segment);
}

std::shared_ptr<const RecordSet> CommitHistory::whole(Transaction& transaction, State state) {
  {
    const base::MutexLock lock(mutex_);
    if (const auto* whole = wholes_.get(state)) return *whole;
  }
  auto set = std::make_shared<RecordSet>();
  uint64_t depth = this->depth(transaction, state);
  for (State at = state; at != 0;) {
    const unsigned layer = layer_at(depth);
    at = step(transaction, at, layer, [&](BytesView row) { *set ^= read_set(row).or_throw(); }).target;
    depth -= steps(layer);
  }
  set->set_part(all_segments, {});
  const base::MutexLock lock(mutex_);
  wholes_.put(state, set, set->bytes());
  return set;
}

State CommitHistory::first_of(Transaction& transaction, State state) const {
  uint64_t depth = this->depth(transaction, state);
  while (depth > 1) {
    unsigned layer = layer_at(depth);
    while (steps(layer) >= depth) --layer;
    state = step(transaction, state, layer, [](BytesView) {}).target;
    depth -= steps(layer);
  }
  return state;
}

RecordSet CommitHistory::between(Transaction& transaction, State a, State b) {
  RecordSet set;
  const auto target = [&](State state, unsigned layer) { return step(transaction, state, layer, [](BytesView) {}).target; };
  const auto apply = [&](State& state, unsigned layer) {
    state = step(transaction, state, layer, [&](BytesView row) { set ^= read_set(row).or_throw(); }).target;
  };
  uint64_t depth_a = depth(transaction, a), depth_b = depth(transaction, b);
  while (a != b) {
    if (depth_a < depth_b) {
      std::swap(a, b);
      std::swap(depth_a, depth_b);
    }
    unsigned layer = layer_at(depth_a);
    if (depth_a > depth_b) {
      while (depth_a - steps(layer) < depth_b) --layer;
      apply(a, layer);
      depth_a -= steps(layer);
      continue;
    }
    // The two states are equally deep. They go back together, by the longest jump that doesn't lead past their common ancestor.
    while (layer > 0 && target(a, layer) == target(b, layer)) --layer;
    apply(a, layer);
    apply(b, layer);
    depth_a = depth_b = depth_a - steps(layer);
  }
  set.set_part(all_segments, {});
  return set;
}

std::map<State, std::vector<CommitHistory::Row>> CommitHistory::rows(Transaction& transaction,
                                                                     const std::function<void()>& interrupted) const {
  std::map<State, std::vector<Row>> rows;
  storage::TableCursor cursor = table_.cursor(transaction);
  while (cursor.next()) {
    if (interrupted) interrupted();
    const BytesView key = cursor.key();
    if (key.size() != row_key(0, 0).size()) continue;
    const State state = base::load_be64(key.data());
    const auto layer = static_cast<unsigned char>(key.back());
    BytesView row = cursor.value();
    const auto step = take_step(state, row);
    if (layer < layers_max && step && read_set(row)) rows[state].push_back({layer, step->depth, step->target});
  }
  return rows;
}

RecordSet CommitHistory::changed(Transaction& transaction, State state, unsigned layer) const {
  RecordSet set;
  step(transaction, state, layer, [&](BytesView row) { set = read_set(row).or_throw(); });
  set.set_part(all_segments, {});
  return set;
}

std::vector<CommitHistory::Row> CommitHistory::replace(Transaction& transaction, State state, State parent,
                                                       const RecordSet& changed) {
  {
    const base::MutexLock lock(mutex_);
    parts_.clear();
    wholes_.clear();
  }
  for (unsigned layer = 0; layer < layers_max; ++layer) table_.remove(transaction, row_key(state, layer));
  append(transaction, state, parent, changed);
  std::vector<Row> rows;
  for (unsigned layer = 0; layer == 0 || layer <= layer_at(rows.front().depth); ++layer) {
    const Step step = this->step(transaction, state, layer, [](BytesView) {});
    rows.push_back({layer, step.depth, step.target});
  }
  return rows;
}

}  // namespace versions
