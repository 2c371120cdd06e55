// Says where a level's nodes end.
#pragma once

#include <bit>

#include "base/bytes.h"

namespace versions::merkle {

enum class Cut : uint8_t {
  key_hash,
  byte_window,
  overflow,  // no rule of content: a node that grew too large is split evenly, as in a B+-tree
};

// Reads a level's entries in order. What it says follows from the entries since the last end alone, so that an end that is
// still one after a change leaves everything behind it as it was.
class Cutter {
 public:
  Cutter(Cut cut, unsigned level, uint32_t node_bytes)
      : cut_(cut),
        level_(level),
        target_(node_bytes),
        target_shift_(std::has_single_bit(node_bytes) ? std::countr_zero(node_bytes) : -1) {}

  // `before`: bytes of the node's entries so far; `entry`: of this one. Whether the node ends with it. Not for `overflow`.
  bool ends_after(base::BytesView key, base::BytesView value, uint64_t before, uint64_t entry);

 private:
  bool key_hash_ends(base::BytesView key, uint64_t before, uint64_t entry) const;
  bool window_ends(base::BytesView bytes);
  // Divided by the target: of most trees a power of two, and this is asked of each entry.
  uint64_t of_target(uint64_t bytes) const { return target_shift_ >= 0 ? bytes >> target_shift_ : bytes / target_; }

  Cut cut_;
  unsigned level_;
  uint64_t target_;
  int target_shift_;
  uint64_t window_ = 0;  // hash of the last 64 bytes, since the node's start
};

}  // namespace versions::merkle
