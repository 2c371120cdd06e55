// The feature index leads from a feature to contents that have it: a cuckoo
// table of 6 bytes an entry (dbDedup §5.2).
//
//   slot   8 buckets    checksum u16 | pointer u32     (pointer 0: empty)
//
//   two_slots  A feature's entries are in one of two slots, and from an entry's
//              slot and checksum follows its other one (Fan et al. 2014, "Cuckoo
//              Filter"): entries make room for each other up to 95 % of the table,
//              and can be erased.
//   published  16 slots, by as many hash functions, looked through until one has an
//              empty bucket. Where all are full a victim goes; a caller that knows its
//              feature puts it again.
//
// Matches are by checksum and may be false, so the caller follows the pointer and compares the feature itself. The index may
// forget; it never invents.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dedup/options.h"

namespace dedup {

struct FeatureMatch {
  uint32_t bucket;
  uint32_t pointer;
};

// A match is what a feature led to; there is never a reason to follow more.
class FeatureMatches {
 public:
  static constexpr uint32_t max = 12;
  bool full(uint32_t count) const { return count_ >= count || count_ == max; }
  void add(const FeatureMatch& match) { matches_[count_++] = match; }
  void remove(uint32_t i) {
    for (--count_; i < count_; ++i) matches_[i] = matches_[i + 1];
  }
  void truncate(uint32_t count) { count_ = count; }
  uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  const FeatureMatch& operator[](uint32_t i) const { return matches_[i]; }
  FeatureMatch& operator[](uint32_t i) { return matches_[i]; }
  const FeatureMatch* begin() const { return matches_.data(); }
  const FeatureMatch* end() const { return matches_.data() + count_; }

 private:
  std::array<FeatureMatch, max> matches_;
  uint32_t count_ = 0;
};

// The index isn't thread-safe.
class FeatureIndex {
 public:
  static constexpr size_t entry_bytes = 6;

  explicit FeatureIndex(uint64_t seed, IndexLayout layout = IndexLayout::two_slots) : seed_(seed), layout_(layout) {}

  // Returns at most `count` matches; with the published layout they are in the order in which they were put.
  FeatureMatches find(uint32_t feature, uint32_t count) const;
  void prefetch(uint32_t feature) const;

  // An entry that lost its place to another: for good with the two-slot layout, until it is put again with the published one.
  struct Victim {
    uint16_t checksum;
    uint32_t pointer;
  };
  // Adds an entry; pointer != 0. Buckets that were found before may have moved afterwards.
  std::optional<Victim> put(uint32_t feature, uint32_t pointer);
  // Makes the entry found in `bucket`, of the same feature, lead elsewhere.
  void overwrite(uint32_t bucket, uint32_t pointer);
  // Makes the entry in `bucket` lead to nothing. With the published layout it stays, or what stands behind it would be lost.
  void clear(uint32_t bucket);
  // Returns the entry of the feature that leads to `pointer`, if there is one. Two-slot layout only.
  bool erase(uint32_t feature, uint32_t pointer);

  uint16_t checksum(uint32_t feature) const { return static_cast<uint16_t>(hash(feature) >> 48); }

  // Empties the index and gives it room for at least `entries`; 0 frees it.
  void reset(size_t entries);
  void reset(size_t entries, IndexLayout layout);

  size_t used() const { return used_; }
  size_t capacity() const { return slots_.size() * buckets; }
  size_t memory_bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr uint32_t buckets = 8;
  static constexpr uint32_t functions = 16;
  struct Slot {
    uint16_t checksums[buckets];
    uint32_t pointers[buckets];

    // A set of buckets has a bit for each. All are compared, because the right one can't be predicted.
    uint32_t with(uint16_t checksum) const { return equal(checksums, checksum); }
    uint32_t empty() const { return equal(pointers, uint32_t{0}); }
    template <class T>
    static uint32_t equal(const T (&values)[buckets], T value) {
      uint32_t set = 0;
      for (uint32_t bucket = 0; bucket < buckets; ++bucket) set |= uint32_t{values[bucket] == value} << bucket;
      return set;
    }
  };
  static_assert(sizeof(Slot) == buckets * entry_bytes);

  uint64_t hash(uint32_t feature) const;
  size_t slot(uint64_t hash, uint32_t function) const;
  size_t other_slot(size_t slot, uint16_t checksum) const;
  bool put_into(size_t slot, uint16_t checksum, uint32_t pointer);
  std::optional<Victim> make_room(size_t slot, Victim entry);

  uint64_t seed_;
  IndexLayout layout_;
  uint64_t victims_ = 0;
  size_t used_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace dedup
