// This file finds copies as dbDedup does (§5.3, Algorithm 4): it is xDelta with a rolling hash over 16 bytes.
// Only every n-th position, chosen by the hash itself, is indexed in the source and looked up from the
// target.
//
// The result is Algorithm 4's, and the speed is higher. A rolling hash waits for itself at each byte, so four
// stretches are rolled side by side; the target is not rolled where a copy was found; and the index is one flat
// table.
#include <algorithm>
#include <array>

#include "dedup/copies.h"
#include "dedup/rolling_hash.h"

namespace dedup {

namespace {

constexpr size_t window_bytes = 16;
constexpr size_t copy_bytes_min = 8;  // shorter ones cost what they save
constexpr RabinTables rabin(window_bytes);

struct Anchor {
  uint64_t hash;
  size_t at;
};

// Lists the anchors among the positions [from, to), in their order.
class AnchorScanner {
 public:
  AnchorScanner(BytesView bytes, uint64_t mask)
      : bytes_(base::as_u8(bytes)), positions_(bytes.size() < window_bytes ? 0 : bytes.size() - window_bytes + 1), mask_(mask) {}

  size_t positions() const { return positions_; }

  // `to - from` is at most block_positions.
  void scan(size_t from, size_t to) {
    anchors.clear();
    const size_t strip = (to - from) / strips;
    if (strip < window_bytes) return roll(from, to);
    std::array<uint64_t, strips> hash{};
    for (size_t i = 0; i < window_bytes; ++i)
      for (size_t s = 0; s < strips; ++s) hash[s] = rabin.push(hash[s], bytes_[from + s * strip + i]);
    for (size_t i = 0;; ++i) {
      for (size_t s = 0; s < strips; ++s)
        if ((hash[s] & mask_) == mask_) found_[s].push_back({hash[s], from + s * strip + i});
      if (i + 1 == strip) break;
      for (size_t s = 0; s < strips; ++s) {
        const uint8_t* p = bytes_ + from + s * strip + i;
        hash[s] = rabin.slide(hash[s], p[0], p[window_bytes]);
      }
    }
    for (auto& found : found_) {
      anchors.insert(anchors.end(), found.begin(), found.end());
      found.clear();
    }
    roll(from + strips * strip, to);
  }

  std::vector<Anchor> anchors;

  static constexpr size_t block_positions = 4096;

 private:
  static constexpr size_t strips = 4;

  void roll(size_t from, size_t to) {
    if (from == to) return;
    uint64_t hash = 0;
    for (size_t i = 0; i < window_bytes; ++i) hash = rabin.push(hash, bytes_[from + i]);
    for (size_t at = from;; hash = rabin.slide(hash, bytes_[at], bytes_[at + window_bytes]), ++at) {
      if ((hash & mask_) == mask_) anchors.push_back({hash, at});
      if (at + 1 == to) return;
    }
  }

  const uint8_t* const bytes_;
  const size_t positions_;
  const uint64_t mask_;
  std::array<std::vector<Anchor>, strips> found_;
};

// The table holds the source's anchors by their hash; of anchors with one hash it holds the last, as published. It
// grows to the expected number and somewhat more: a source that was made to consist of anchors gets no larger
// table.
class AnchorIndex {
 public:
  AnchorIndex(size_t positions, uint64_t interval) : entries_max_(4 * (positions / interval) + 1024) { resize(1024); }

  void put(const Anchor& anchor) {
    Slot* slot = find_slot(anchor.hash);
    if (!slot) return;
    if (slot->at_plus_one == 0) {
      if (entries_ == entries_max_) return;
      if (++entries_ * 2 > slots_.size()) {
        resize(slots_.size() * 4);
        slot = find_slot(anchor.hash);
        if (!slot) return;
      }
    }
    *slot = {anchor.hash, anchor.at + 1};
  }

  std::optional<size_t> find(uint64_t hash) {
    const Slot* slot = find_slot(hash);
    return slot && slot->at_plus_one ? std::optional(slot->at_plus_one - 1) : std::nullopt;
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    size_t at_plus_one = 0;
  };
  static constexpr size_t probes_max = 128;

  // Returns where the hash is or would be, and null where hashes were made to collide.
  Slot* find_slot(uint64_t hash) {
    size_t at = hash * 0x9e3779b97f4a7c15ull >> shift_;
    for (size_t probes = 0; probes < probes_max; ++probes, at = (at + 1) & (slots_.size() - 1))
      if (slots_[at].at_plus_one == 0 || slots_[at].hash == hash) return &slots_[at];
    return nullptr;
  }

  void resize(size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    shift_ = 64 - std::countr_zero(slots);
    for (const Slot& slot : old)
      if (slot.at_plus_one != 0)
        if (Slot* place = find_slot(slot.hash)) *place = slot;
  }

  const size_t entries_max_;
  size_t entries_ = 0;
  int shift_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace

std::optional<std::vector<Copy>> find_copies_by_anchors(BytesView source, BytesView target, const DeltaOptions& options) {
  constexpr size_t block = AnchorScanner::block_positions;
  const uint64_t mask = options.anchor_interval - 1;
  AnchorScanner in_source(source, mask), in_target(target, mask);
  AnchorIndex index(in_source.positions(), options.anchor_interval);
  for (size_t from = 0; from < in_source.positions(); from += block) {
    in_source.scan(from, std::min(from + block, in_source.positions()));
    for (const Anchor& anchor : in_source.anchors) index.put(anchor);
  }

  std::vector<Copy> copies;
  size_t covered = 0, literals = 0, ahead = 256;
  for (size_t next = 0; next < in_target.positions();) {
    const size_t to = std::min(next + ahead, in_target.positions());
    in_target.scan(next, to);
    next = to;
    ahead = std::min(2 * ahead, block);  // few at first: a copy may make looking further needless
    for (const auto& [hash, t] : in_target.anchors) {
      if (t < covered) continue;
      const auto s = index.find(hash);
      if (!s) continue;
      const size_t after = agree_forward(source.data() + *s, target.data() + t, std::min(source.size() - *s, target.size() - t));
      const size_t before = agree_backward(source.data() + *s, target.data() + t, std::min(*s, t - covered));
      if (before + after < copy_bytes_min) continue;
      copies.push_back({*s - before, t - before, before + after});
      literals += t - before - covered;
      covered = t + after;
      if (covered >= to) {
        next = covered;
        ahead = 256;
        break;
      }
    }
  }
  if (literals + target.size() - covered > options.literal_bytes_max) return std::nullopt;
  return copies;
}

}  // namespace dedup
