#include "versions/merkle/cutter.h"

#include <algorithm>
#include <array>

#include "base/hash.h"
#include "base/random.h"

namespace versions::merkle {
namespace {

// A gear hash: each byte's number is added to twice the sum so far, so that a byte no longer counts after 64 more.
std::array<uint64_t, 256> make_gear() {
  std::array<uint64_t, 256> gear;
  base::Random random(0x6d65726b6c65);
  for (uint64_t& number : gear) number = random();
  return gear;
}

// A node that finds no end ends at this multiple of its target size. Only keys or values that were made for it lead there.
constexpr uint64_t longest = 64;

}  // namespace

bool Cutter::ends_after(base::BytesView key, base::BytesView value, uint64_t before, uint64_t entry) {
  bool ends = false;
  if (cut_ == Cut::key_hash) {
    ends = key_hash_ends(key, before, entry);
  } else if (level_ == 0) {
    const bool in_key = window_ends(key), in_value = window_ends(value);
    ends = in_key || in_value || before + entry >= longest * target_;
  } else {
    ends = base::load_le<uint32_t>(value.data()) < (uint64_t{1} << 32) * entry / target_ || before + entry >= longest * target_;
    // Otherwise a tree of nodes with one child each would have no top.
    if (before == 0) ends = false;
  }
  if (ends) window_ = 0;
  return ends;
}

// The longer the node is already, the likelier it ends: with probability 1.571 e (s + e / 2) / target^2 after s bytes and an
// entry of e, which makes lengths a Weibull distribution of shape 2 with that mean. Where every end is as likely, a change meets
// nodes of twice the mean; here it meets some of 1.3 times. A higher shape would move that closer to 1, but small nodes, which
// changes miss, would be fewer, and fewer nodes shared. Never likelier than even: where long entries made all nodes end after the
// second, a record more would shift them all. In whole numbers, for the same nodes on every machine.
bool Cutter::key_hash_ends(base::BytesView key, uint64_t before, uint64_t entry) const {
  // Every node has two entries at least, so that every level has half as many nodes as the one below.
  if (before == 0) return false;
  if (before + entry >= longest * target_) return true;
  constexpr uint64_t factor = 1609, even = uint64_t{1} << 31;  // / 2^10, / 2^32
  const uint64_t hash = base::hash64(key, level_) >> 32;
  if (hash >= even) return false;
  const auto parts = [&](uint64_t bytes) { return std::min<uint64_t>(of_target(bytes << 10), 1 << 12); };  // / 2^10
  const uint64_t e = std::min<uint64_t>(of_target(entry << 20), 1 << 22);                                  // / 2^20
  const uint64_t threshold = (factor * (parts(before) + parts(before + entry)) * e) >> (10 + 1 + 10 + 20 - 32);
  return hash < threshold;
}

bool Cutter::window_ends(base::BytesView bytes) {
  static const std::array<uint64_t, 256> gear = make_gear();
  const uint64_t threshold = ~uint64_t{0} / target_;
  bool ends = false;
  for (const char c : bytes) {
    window_ = (window_ << 1) + gear[static_cast<uint8_t>(c)];
    ends |= window_ < threshold;
  }
  return ends;
}

}  // namespace versions::merkle
