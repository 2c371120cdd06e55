// Finding copies as dbDedup does it (§5.3, Algorithm 4): xDelta with a rolling
// hash over 16 bytes, of which only every n-th position, chosen by the hash
// itself, is indexed in the source and looked up from the target.
#include <unordered_map>

#include "dedup/copies.h"
#include "dedup/rolling_hash.h"

namespace dedup {

namespace {

constexpr size_t window_bytes = 16;
constexpr size_t copy_bytes_min = 8;  // shorter ones cost what they save
constexpr RabinTables rabin(window_bytes);

// Calls visit(position, hash) at the anchors of `bytes`; visit returns where to
// go on at the earliest.
template <class Visit>
void for_each_anchor(BytesView bytes, uint64_t mask, Visit visit) {
  if (bytes.size() < window_bytes) return;
  const auto* p = base::as_u8(bytes);
  size_t next = 0;
  uint64_t hash = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    hash = i < window_bytes ? rabin.push(hash, p[i]) : rabin.slide(hash, p[i - window_bytes], p[i]);
    if (i + 1 < window_bytes) continue;
    const size_t at = i + 1 - window_bytes;
    if (at >= next && (hash & mask) == mask) next = visit(at, hash);
  }
}

}  // namespace

std::optional<std::vector<Copy>> find_copies_by_anchors(BytesView source, BytesView target, const DeltaOptions& options) {
  const uint64_t mask = options.anchor_interval - 1;
  std::unordered_map<uint64_t, size_t> anchors;
  for_each_anchor(source, mask, [&](size_t at, uint64_t hash) {
    anchors[hash] = at;
    return at + 1;
  });

  std::vector<Copy> copies;
  size_t covered = 0, literals = 0;
  for_each_anchor(target, mask, [&](size_t t, uint64_t hash) {
    const auto found = anchors.find(hash);
    if (found == anchors.end()) return t + 1;
    const size_t s = found->second;
    const size_t after = agree_forward(source.data() + s, target.data() + t, std::min(source.size() - s, target.size() - t));
    const size_t before = agree_backward(source.data() + s, target.data() + t, std::min(s, t - covered));
    if (before + after < copy_bytes_min) return t + 1;
    copies.push_back({s - before, t - before, before + after});
    literals += t - before - covered;
    covered = t + after;
    return std::max(covered, t + 1);
  });
  if (literals + target.size() - covered > options.literal_bytes_max) return std::nullopt;
  return copies;
}

}  // namespace dedup
