// The feature index leads from a feature to contents that have it: a cuckoo
// table of 6 bytes an entry (dbDedup §5.2).
//
//   slot   8 buckets    checksum u16 | pointer u32     (pointer 0: empty)
//
// A feature has 16 slots, by 16 hash functions; it is looked for in one after the
// other until a slot has an empty bucket. Matches are by checksum and may be
// false: whoever follows the pointer compares the feature itself. The index may
// forget (it is bounded, and victims are not re-inserted: their feature is not
// here, and at the bound somebody has to go), it never invents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dedup {

struct FeatureMatch {
  uint32_t bucket;
  uint32_t pointer;
};

// Not thread-safe.
class FeatureIndex {
 public:
  static constexpr size_t entry_bytes = 6;

  explicit FeatureIndex(uint64_t seed) : seed_(seed) {}

  // Appends the matches of `feature`, at most `count`, in the order they were put.
  void find(uint32_t feature, size_t count, std::vector<FeatureMatch>& out) const;
  void prefetch(uint32_t feature) const;

  // A new entry; pointer != 0. Where all slots are full a victim is forgotten.
  void put(uint32_t feature, uint32_t pointer);
  // The entry found in `bucket`, of the same feature, now leads elsewhere.
  void overwrite(uint32_t bucket, uint32_t pointer);

  // Empties the index and gives it room for at least `entries`; 0 frees it.
  void reset(size_t entries);

  size_t used() const { return used_; }
  size_t capacity() const { return slots_.size() * buckets; }
  size_t memory_bytes() const { return slots_.size() * sizeof(Slot); }

 private:
  static constexpr uint32_t buckets = 8;
  static constexpr uint32_t functions = 16;
  struct Slot {
    uint16_t checksums[buckets];
    uint32_t pointers[buckets];
  };
  static_assert(sizeof(Slot) == buckets * entry_bytes);

  uint64_t hash(uint32_t feature) const;
  size_t slot(uint64_t hash, uint32_t function) const;

  uint64_t seed_;
  uint64_t victims_ = 0;
  size_t used_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace dedup
