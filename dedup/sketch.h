// A sketch is the short fingerprint by which similar contents find each other.
//
//   windows   every 16 bytes hashed   4 super-features: under four random rankings
//                                      each, the first windows, taken together: near-copies
//                                     8 features: the smallest hashes: parts in common
//   chunks    |-- chunk --|- chunk -|---- chunk ----|   the K largest chunk hashes (§3.1)
//
// Contents that share only boilerplate share plain features but hardly a
// super-feature; contents with many small changes keep some plain features when
// all super-features are gone. So both are kept.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "dedup/options.h"
#include "dedup/sketch_windows.h"

namespace dedup {

class Features {
 public:
  static constexpr uint32_t max = 16;

  // Adds a feature, unless it is there already.
  void add(uint32_t feature) {
    if (count_ < max && !contains(feature)) values_[count_++] = feature;
  }
  bool contains(uint32_t feature) const {
    for (uint32_t value : *this)
      if (value == feature) return true;
    return false;
  }
  uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  // Keeps the first `count`.
  void truncate(uint32_t count) { count_ = std::min(count_, count); }
  const uint32_t* begin() const { return values_.data(); }
  const uint32_t* end() const { return values_.data() + count_; }
  uint32_t operator[](uint32_t i) const { return values_[i]; }
  bool operator==(const Features& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<uint32_t, max> values_{};
  uint32_t count_ = 0;
};

// A sketcher is immutable, and so thread-safe.
class Sketcher {
 public:
  // Another seed gives other features: nobody who doesn't know it can aim at them.
  Sketcher(const Options& options, uint64_t seed, const WindowKernel& kernel = window_kernels().front());

  // Contents below Options::content_bytes_min have no features. The collection is
  // part of the features: its contents meet only each other.
  Features sketch(uint32_t collection, BytesView content) const;

  // Returns the feature that all contents of one lineage have; never 0.
  uint32_t lineage_feature(uint32_t collection, Lineage lineage) const;

 private:
  Features windows(uint64_t salt, BytesView content) const;
  Features chunks(uint64_t salt, BytesView content) const;

  Options options_;
  uint64_t seed_;
  const WindowKernel* kernel_;
  WindowHash window_hash_;
  Rankings rankings_;
};

}  // namespace dedup
