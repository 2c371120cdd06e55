#include "storage/contents/row_past.h"

#include "base/hash.h"

namespace storage {

namespace {

constexpr char too_many[] = "its row has more pre-states than it may";
constexpr char damaged[] = "the pre-states in its row are damaged";

base::Failure corrupt(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, what};
}

}  // namespace

bool PreStateWalk::next() {
  if (list_.empty() || damaged_) return false;
  damaged_ = true;
  const char* at = list_.data();
  const char* const end = at + list_.size();
  uint64_t seconds, count, length, delta_bytes;
  if (!base::next_varint(at, end, seconds) || !base::next_varint(at, end, count) || !base::next_varint(at, end, length))
    return false;
  const auto generation = stamp_near(above_, base::unzigzag(seconds), base::unzigzag(count));
  if (!generation || *generation >= above_ || length > UINT32_MAX || end - at < static_cast<ptrdiff_t>(sizeof(uint32_t)))
    return false;
  at_.generation = above_ = *generation;
  at_.length = length;
  at_.checksum = base::load_le<uint32_t>(at);
  at += sizeof(uint32_t);
  if (!base::next_varint(at, end, delta_bytes) || delta_bytes > static_cast<uint64_t>(end - at)) return false;
  at_.delta = {at, delta_bytes};
  list_ = {at + delta_bytes, static_cast<size_t>(end - at) - delta_bytes};
  at_.end = bytes_ - list_.size();
  damaged_ = false;
  return true;
}

base::Result<PreStateSummary> PreStateSummary::of(BytesView list, Stamp above) {
  PreStateSummary all;
  PreStateWalk walk(list, above);
  while (walk.next()) {
    if (all.count == RowPreStates::count_max) return corrupt(too_many);
    if (all.count++ == 0) all.newest = walk.at();
  }
  if (walk.damaged()) return corrupt(damaged);
  all.oldest = walk.at().generation;
  return all;
}

base::Result<RowPreStates> RowPreStates::parse(BytesView list, Stamp above) {
  base::Result<RowPreStates> parsed{RowPreStates()};
  RowPreStates& all = parsed.value();
  PreStateWalk walk(list, above);
  while (walk.next()) {
    if (all.count_ == count_max) return corrupt(too_many);
    all.of_[all.count_++] = walk.at();
  }
  if (walk.damaged()) return corrupt(damaged);
  return parsed;
}

base::Result<Stamp> PreStateSearch::find(BytesView list, Stamp above, Stamp newest) {
  count_ = 0;
  PreStateWalk walk(list, above);
  while (walk.next()) {
    if (count_ == links_.size()) return corrupt(too_many);
    links_[links_.size() - ++count_] = {walk.at().delta, walk.at().length};
    if (walk.at().generation > newest) continue;
    checksum_ = walk.at().checksum;
    return walk.at().generation;
  }
  if (walk.damaged()) return corrupt(damaged);
  return Stamp{0};
}

std::optional<base::Failure> PreStateSearch::make(BytesView own, Bytes& out) const {
  if (const auto failure = dedup::apply_chain_to(out, own, std::span(links_).last(count_)))
    return corrupt("a pre-state in its row does not decode: " + failure->message);
  if (base::checksum32(out) != checksum_) return corrupt("the checksum of a pre-state in its row does not hold");
  return std::nullopt;
}

void append_pre_state(Bytes& list, Stamp above, const PreState& pre_state) {
  append_stamp_near(list, pre_state.generation, above);
  base::append_varint(list, pre_state.length);
  base::append_le(list, pre_state.checksum);
  base::append_varint(list, pre_state.delta.size());
  list.append(pre_state.delta);
}

}  // namespace storage
