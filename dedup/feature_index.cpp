#include "dedup/feature_index.h"

namespace dedup {

namespace {

uint64_t stir(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ull;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebull;
  return value ^ (value >> 31);
}

}  // namespace

uint64_t FeatureIndex::hash(uint32_t feature) const { return stir(seed_ ^ feature); }

// The checksum is the top of the hash, so the slots must not follow from it alone.
size_t FeatureIndex::slot(uint64_t hash, uint32_t function) const {
  const uint64_t h = function == 0 ? hash : stir(hash + function * 0x9e3779b97f4a7c15ull);
  return (h & 0xffffffff) * slots_.size() >> 32;
}

void FeatureIndex::find(uint32_t feature, size_t count, std::vector<FeatureMatch>& out) const {
  if (slots_.empty()) return;
  const uint64_t h = hash(feature);
  const auto checksum = static_cast<uint16_t>(h >> 48);
  const size_t end = out.size() + count;
  for (uint32_t function = 0; function < functions; ++function) {
    const size_t at = slot(h, function);
    const Slot& place = slots_[at];
    for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
      if (place.pointers[bucket] == 0) return;
      if (place.checksums[bucket] != checksum) continue;
      if (out.size() == end) return;
      out.push_back({static_cast<uint32_t>(at * buckets + bucket), place.pointers[bucket]});
    }
  }
}

void FeatureIndex::prefetch(uint32_t feature) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[slot(hash(feature), 0)]);
}

void FeatureIndex::put(uint32_t feature, uint32_t pointer) {
  if (slots_.empty()) return;
  const uint64_t h = hash(feature);
  const auto checksum = static_cast<uint16_t>(h >> 48);
  for (uint32_t function = 0; function < functions; ++function) {
    Slot& place = slots_[slot(h, function)];
    for (uint32_t bucket = 0; bucket < buckets; ++bucket) {
      if (place.pointers[bucket]) continue;
      place.checksums[bucket] = checksum;
      place.pointers[bucket] = pointer;
      ++used_;
      return;
    }
  }
  const uint64_t victim = stir(seed_ + ++victims_);
  Slot& place = slots_[slot(h, victim % functions)];
  place.checksums[victim >> 60 & (buckets - 1)] = checksum;
  place.pointers[victim >> 60 & (buckets - 1)] = pointer;
}

void FeatureIndex::overwrite(uint32_t bucket, uint32_t pointer) {
  slots_[bucket / buckets].pointers[bucket % buckets] = pointer;
}

void FeatureIndex::reset(size_t entries) {
  slots_ = std::vector<Slot>((entries + buckets - 1) / buckets);
  used_ = 0;
}

}  // namespace dedup
