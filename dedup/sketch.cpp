#include "dedup/sketch.h"

#include <algorithm>
#include <functional>

#include "base/hash.h"
#include "base/random.h"
#include "dedup/chunker.h"
#include "dedup/sketch_windows.h"

namespace dedup {

namespace {

constexpr uint32_t rankings_per_super_feature = 4;
constexpr uint32_t sample_limit = 1u << 27;  // one window in 32 takes part in the rankings
constexpr size_t short_bytes = 2048;         // below, too few samples to hold the smallest hashes for sure

uint64_t stir(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
  return value ^ (value >> 32);
}

uint32_t feature_of(uint64_t value, uint64_t salt) { return static_cast<uint32_t>(stir(value ^ salt) >> 32); }

// The published MurmurHash 2, 64 bit (Appleby), which dbDedup uses for chunks.
uint64_t murmur(BytesView bytes) {
  constexpr uint64_t m = 0xc6a4a7935bd1e995ull;
  uint64_t h = bytes.size() * m;
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t k = base::load_le<uint64_t>(bytes.data() + at) * m;
    h = (h ^ (k ^ (k >> 47)) * m) * m;
  }
  uint64_t tail = 0;
  std::memcpy(&tail, bytes.data() + at, bytes.size() - at);
  if (at < bytes.size()) h = (h ^ tail) * m;
  h = (h ^ (h >> 47)) * m;
  return h ^ (h >> 47);
}

// The `count` smallest different values under `before`, in order.
template <class T, class Before>
void keep_first(std::vector<T>& values, size_t count, Before before) {
  std::vector<T> first;
  first.reserve(count + 1);
  for (const T& value : values) {
    if (first.size() == count && !before(value, first.back())) continue;
    const auto place = std::lower_bound(first.begin(), first.end(), value, before);
    if (place != first.end() && *place == value) continue;
    first.insert(place, value);
    if (first.size() > count) first.pop_back();
  }
  values = std::move(first);
}

}  // namespace

Sketcher::Sketcher(const Options& options, uint64_t seed) : options_(options), seed_(stir(seed + 1)) {
  options_.features_max = std::min(options_.features_max, Features::max);
  base::Random random(seed);
  for (auto& multiplier : multipliers_) multiplier = static_cast<uint32_t>(random()) | 1;
  for (auto& multiplier : rankings_.multipliers) multiplier = static_cast<uint32_t>(random()) | 1;
  for (auto& offset : rankings_.offsets) offset = static_cast<uint32_t>(random());
}

Features Sketcher::sketch(uint32_t collection, BytesView content) const {
  if (content.size() < std::max<size_t>(options_.content_bytes_min, sketch_window_bytes)) return {};
  const uint64_t salt = stir(seed_ + collection);
  return options_.sketch_method == SketchMethod::windows ? windows(salt, content) : chunks(salt, content);
}

uint32_t Sketcher::lineage_feature(uint32_t collection, Lineage lineage) const {
  return feature_of(stir(lineage), stir(seed_ + collection) + 1) | 1;
}

Features Sketcher::windows(uint64_t salt, BytesView content) const {
  const uint32_t supers = std::min<uint32_t>(options_.features_max / 2, rankings_.offsets.size() / rankings_per_super_feature);
  const uint32_t rankings = supers * rankings_per_super_feature;
  std::vector<uint32_t> hashes;
  hashes.reserve(content.size() < short_bytes ? content.size() : content.size() / 24);
  if (content.size() >= short_bytes) window_hashes(content, multipliers_, sample_limit, hashes);
  if (hashes.size() < options_.features_max) {  // short, or monotonous
    hashes.clear();
    window_hashes(content, multipliers_, UINT32_MAX, hashes);
  }

  Features features;
  const auto first = first_ranked(hashes, sample_limit, rankings_);
  if (first != decltype(first){})
    for (uint32_t i = 0; i < rankings; i += rankings_per_super_feature) {
      const BytesView together(reinterpret_cast<const char*>(&first[i]), rankings_per_super_feature * sizeof first[i]);
      features.add(feature_of(base::hash64(together, i + 1), salt));
    }
  keep_first(hashes, options_.features_max - supers, std::less<>());
  for (const uint32_t hash : hashes) features.add(feature_of(hash, salt));
  return features;
}

Features Sketcher::chunks(uint64_t salt, BytesView content) const {
  const bool rabin = options_.sketch_method == SketchMethod::rabin_chunks;
  std::vector<uint64_t> hashes;
  size_t start = 0;
  for (const size_t end : cut(content, rabin ? ChunkMethod::rabin : ChunkMethod::gear, options_.chunk_bytes)) {
    const BytesView chunk = content.substr(start, end - start);
    hashes.push_back(rabin ? murmur(chunk) : base::hash64(chunk));
    start = end;
  }
  keep_first(hashes, options_.features_max, std::greater<>());
  Features features;
  for (const uint64_t hash : hashes) features.add(feature_of(hash, salt));
  return features;
}

}  // namespace dedup
