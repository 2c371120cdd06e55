#include "dedup/feature_index.h"

#include <bit>
#include <utility>

namespace dedup {

namespace {

constexpr int moves_max = 200;  // so many entries are moved to make room for one

uint64_t stir(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

}  // namespace

uint64_t FeatureIndex::hash(uint32_t feature) const {
  return stir(seed_ ^ feature);
}

// The checksum is the top of the hash, so the slots must not follow from it alone.
size_t FeatureIndex::slot(uint64_t hash, uint32_t function) const {
  const uint64_t h = function == 0 ? hash : stir(hash + function * 0x9e3779b97f4a7c15ull);
  return (h & 0xffffffff) * slots_.size() >> 32;
}

// The two slots add up to a number that follows from the checksum, so each leads to the other. The number is odd and the number
// of slots even, so the two are never one slot, which would hold half of what a feature may need.
size_t FeatureIndex::other_slot(size_t slot, uint16_t checksum) const {
  const size_t sum = (stir(seed_ + 1 + checksum) >> 32) * slots_.size() >> 32 | 1;
  return sum >= slot ? sum - slot : sum + slots_.size() - slot;
}

FeatureMatches FeatureIndex::find(uint32_t feature, uint32_t count) const {
  FeatureMatches matches;
  if (slots_.empty()) return matches;
  const uint64_t h = hash(feature);
  const auto checksum = static_cast<uint16_t>(h >> 48);
  // Returns false where the published way of looking ends.
  const auto look = [&](size_t at) {
    const Slot& place = slots_[at];
    // Two of the 16 functions may lead to one slot.
    for (const FeatureMatch& known : matches)
      if (known.bucket / buckets == at) return true;
    const uint32_t empty = place.empty();
    const bool ends = layout_ == IndexLayout::published && empty != 0;
    uint32_t found = place.with(checksum) & ~empty;
    if (ends) found &= (empty & -empty) - 1;  // the buckets before the first empty one
    for (; found; found &= found - 1) {
      if (matches.full(count)) return false;
      const auto bucket = static_cast<uint32_t>(std::countr_zero(found));
      matches.add({static_cast<uint32_t>(at * buckets + bucket), place.pointers[bucket]});
    }
    return !ends;
  };
  if (layout_ == IndexLayout::published) {
    for (uint32_t function = 0; function < functions && look(slot(h, function)); ++function) {
    }
    return matches;
  }
  const size_t first = slot(h, 0), second = other_slot(first, checksum);
  if (look(first)) look(second);
  return matches;
}

void FeatureIndex::prefetch(uint32_t feature) const {
  if (slots_.empty()) return;
  const uint64_t h = hash(feature);
  const size_t first = slot(h, 0);
  __builtin_prefetch(&slots_[first]);
  if (layout_ == IndexLayout::two_slots) __builtin_prefetch(&slots_[other_slot(first, static_cast<uint16_t>(h >> 48))]);
}

bool FeatureIndex::put_into(size_t at, uint16_t checksum, uint32_t pointer) {
  Slot& place = slots_[at];
  const uint32_t empty = place.empty();
  if (!empty) return false;
  const int bucket = std::countr_zero(empty);
  place.checksums[bucket] = checksum;
  place.pointers[bucket] = pointer;
  ++used_;
  return true;
}

std::optional<FeatureIndex::Victim> FeatureIndex::put(uint32_t feature, uint32_t pointer) {
  if (slots_.empty()) return std::nullopt;
  const uint64_t h = hash(feature);
  const auto checksum = static_cast<uint16_t>(h >> 48);
  if (layout_ == IndexLayout::two_slots) {
    const size_t first = slot(h, 0), second = other_slot(first, checksum);
    if (put_into(first, checksum, pointer) || put_into(second, checksum, pointer)) return std::nullopt;
    return make_room(first, {checksum, pointer});
  }
  for (uint32_t function = 0; function < functions; ++function)
    if (put_into(slot(h, function), checksum, pointer)) return std::nullopt;
  const uint64_t random = stir(seed_ + ++victims_);
  Slot& place = slots_[slot(h, random % functions)];
  const uint32_t bucket = random >> 60 & (buckets - 1);
  const Victim victim{place.checksums[bucket], place.pointers[bucket]};
  place.checksums[bucket] = checksum;
  place.pointers[bucket] = pointer;
  return victim;
}

// Each entry that is moved takes a place in its other slot.
std::optional<FeatureIndex::Victim> FeatureIndex::make_room(size_t at, Victim entry) {
  for (int moves = 0; moves < moves_max; ++moves) {
    const uint32_t bucket = stir(seed_ + ++victims_) >> 60 & (buckets - 1);
    std::swap(slots_[at].checksums[bucket], entry.checksum);
    std::swap(slots_[at].pointers[bucket], entry.pointer);
    at = other_slot(at, entry.checksum);
    if (put_into(at, entry.checksum, entry.pointer)) return std::nullopt;
  }
  return entry;
}

void FeatureIndex::overwrite(uint32_t bucket, uint32_t pointer) {
  slots_[bucket / buckets].pointers[bucket % buckets] = pointer;
}

void FeatureIndex::clear(uint32_t bucket) {
  if (layout_ != IndexLayout::two_slots) return;
  uint32_t& pointer = slots_[bucket / buckets].pointers[bucket % buckets];
  used_ -= pointer != 0;
  pointer = 0;
}

bool FeatureIndex::erase(uint32_t feature, uint32_t pointer) {
  if (slots_.empty() || layout_ != IndexLayout::two_slots) return false;
  const uint64_t h = hash(feature);
  const auto checksum = static_cast<uint16_t>(h >> 48);
  const size_t first = slot(h, 0);
  for (const size_t at : {first, other_slot(first, checksum)})
    for (uint32_t bucket = 0; bucket < buckets; ++bucket)
      if (slots_[at].pointers[bucket] == pointer && slots_[at].checksums[bucket] == checksum) {
        slots_[at].pointers[bucket] = 0;
        --used_;
        return true;
      }
  return false;
}

void FeatureIndex::reset(size_t entries) {
  reset(entries, layout_);
}

void FeatureIndex::reset(size_t entries, IndexLayout layout) {
  layout_ = layout;
  slots_ = {};  // freed before the new ones are asked for
  const size_t slots = (entries + buckets - 1) / buckets;
  slots_ = std::vector<Slot>(slots + slots % 2);
  used_ = 0;
}

}  // namespace dedup
