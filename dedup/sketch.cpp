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
constexpr size_t leading_plain_features = 2;
constexpr size_t slice_bytes = 64 << 10;  // so many windows are looked at in one pass, where all count

// A window is its hash, and its place in the lower half.
using Window = uint64_t;
struct ByHash {
  bool operator()(Window a, Window b) const { return a >> 32 < b >> 32; }
};

uint64_t stir(uint64_t value) {
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
  value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ull;
  return value ^ (value >> 32);
}

uint32_t feature_of(uint64_t value, uint64_t salt) {
  return static_cast<uint32_t>(stir(value ^ salt) >> 32);
}

// This is the published MurmurHash 2, 64 bit (Appleby), which dbDedup uses for chunks.
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

// The first few different values in an order are kept.
template <class T, class Before = std::less<>>
class First {
 public:
  explicit First(size_t count) : count_max_(count) {}

  // If two are equal in this order, the smaller one stays.
  void add(const T& value) {
    if (count_ == count_max_ && (count_ == 0 || before_(values_[count_ - 1], value))) return;
    // It doesn't branch on values, because the place of a value can't be predicted.
    size_t place = 0;
    for (size_t i = 0; i < count_; ++i) place += before_(values_[i], value);
    if (place < count_ && !before_(value, values_[place])) {
      values_[place] = std::min(values_[place], value);
      return;
    }
    if (place == count_max_) return;
    count_ += count_ < count_max_;
    for (size_t i = count_ - 1; i > 0; --i) values_[i] = values_[i - (i > place)];
    values_[place] = value;
  }
  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == count_max_; }
  const T* begin() const { return values_.data(); }
  const T* end() const { return values_.data() + count_; }

 private:
  std::array<T, Features::max> values_{};
  size_t count_ = 0;
  const size_t count_max_;
  [[no_unique_address]] Before before_;
};

}  // namespace

Sketcher::Sketcher(const Options& options, uint64_t seed, const WindowKernel& kernel)
    : options_(options), seed_(stir(seed + 1)), kernel_(&kernel) {
  options_.features_max = std::min(options_.features_max, Features::max);
  base::Random random(seed);
  const auto odd = [&] { return static_cast<uint32_t>(random()) | 1; };
  for (auto& multiplier : window_hash_.multipliers) multiplier = odd();
  window_hash_.offset = odd();
  for (auto& multiplier : rankings_.multipliers) multiplier = odd();
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
  WindowHashes sample;
  sample.hashes.reserve(content.size() / 24 + 64);
  sample.positions.reserve(content.size() / 24 + 64);
  kernel_->window_hashes(content, window_hash_, sample_limit, sample);
  std::array<uint32_t, 16> first{};
  const bool ranked = !sample.hashes.empty();
  if (ranked) first = kernel_->first_ranked(sample.hashes, rankings_);

  First<Window, ByHash> smallest(options_.features_max - supers);
  const auto add_all = [&](size_t at, uint32_t largest) {  // `largest`: a feature up to it still has a place
    for (size_t i = 0; i < sample.hashes.size(); ++i) {
      if (sample.hashes[i] > largest) [[likely]]
        continue;
      smallest.add(Window{sample.hashes[i]} << 32 | (at + sample.positions[i]));
      if (smallest.full()) largest = smallest.empty() ? 0 : static_cast<uint32_t>(smallest.end()[-1] >> 32);
    }
  };
  // A few times as many values as are wanted are below this, as a rule. All others need not find a place first and lose it again.
  add_all(0, static_cast<uint32_t>(std::min<uint64_t>(
                 uint64_t{sample_limit} * 3 * options_.features_max / (sample.hashes.size() + 1), UINT32_MAX)));
  if (!smallest.full()) add_all(0, UINT32_MAX);
  // The content is short or monotonous: the smallest hash of all may not be in the sample.
  for (size_t at = 0; smallest.size() < options_.features_max - supers && at < content.size(); at += slice_bytes) {
    sample.clear();
    kernel_->window_hashes(content.substr(at, slice_bytes + sketch_window_bytes - 1), window_hash_, UINT32_MAX, sample);
    add_all(at, UINT32_MAX);
  }

  // The best come first: a content that keeps few features keeps the rarest.
  Features features;
  const auto plain = [&](Window window) {
    features.add(feature_of(base::hash64(content.substr(window & UINT32_MAX, sketch_window_bytes)), salt));
  };
  const Window* const leading = smallest.begin() + std::min(smallest.size(), leading_plain_features);
  std::for_each(smallest.begin(), leading, plain);
  for (uint32_t i = 0; ranked && i < rankings; i += rankings_per_super_feature) {
    const BytesView together(reinterpret_cast<const char*>(&first[i]), rankings_per_super_feature * sizeof first[i]);
    features.add(feature_of(base::hash64(together, i + 1), salt));
  }
  std::for_each(leading, smallest.end(), plain);
  return features;
}

Features Sketcher::chunks(uint64_t salt, BytesView content) const {
  const bool rabin = options_.sketch_method == SketchMethod::rabin_chunks;
  First<uint64_t, std::greater<>> largest(options_.features_max);
  size_t start = 0;
  for (const size_t end : cut(content, rabin ? ChunkMethod::rabin : ChunkMethod::gear, options_.chunk_bytes)) {
    const BytesView chunk = content.substr(start, end - start);
    largest.add(rabin ? murmur(chunk) : base::hash64(chunk));
    start = end;
  }
  Features features;
  for (const uint64_t hash : largest) features.add(feature_of(hash, salt));
  return features;
}

}  // namespace dedup
