// A Cutter decides where a level's nodes end.
#pragma once

#include <bit>

#include "base/bytes.h"

namespace versions::merkle {

enum class Cut : uint8_t {
  key_hash,
  byte_window,
  overflow,  // the content doesn't decide: a node that grew too large is split evenly, as in a B+-tree
};

// Reads a level's entries in order. Its decision depends only on the entries since the last end. So if an old end is an end after
// a change too, everything behind it stays as it was.
class Cutter {
 public:
  Cutter(Cut cut, unsigned level, uint32_t node_bytes)
      : cut_(cut),
        level_(level),
        target_(node_bytes),
        target_shift_(std::has_single_bit(node_bytes) ? std::countr_zero(node_bytes) : -1) {}

  // Returns whether the node ends with this entry. `before` counts the bytes of the node's entries so far, `entry` those of this
  // one. Must not be called for `overflow`.
  bool ends_after(base::BytesView key, base::BytesView value, uint64_t before, uint64_t entry);

 private:
  bool key_hash_ends(base::BytesView key, uint64_t before, uint64_t entry) const;
  bool window_ends(base::BytesView bytes);
  // Divides by the target size, which is a power of two in most trees. It runs for each entry.
  uint64_t of_target(uint64_t bytes) const { return target_shift_ >= 0 ? bytes >> target_shift_ : bytes / target_; }

  Cut cut_;
  unsigned level_;
  uint64_t target_;
  int target_shift_;
  uint64_t window_ = 0;  // hash of the last 64 bytes since the node's start
};

}  // namespace versions::merkle
