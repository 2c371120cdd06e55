// A content is an immutable run of bytes with a name. How it is kept on disk,
// whole or as a delta against another content, is nobody's business but the
// encoder's and the decoder's.
//
// Contents of one collection are ranked by (record, generation). A delta's base
// always ranks strictly above what it encodes, which is why a chain of deltas
// can have no cycle; that is checked when one is made and when one is read.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace dedup {

using base::Bytes;
using base::BytesView;

struct ContentId {
  uint32_t collection = 0;
  int64_t record = 0;
  uint64_t generation = 0;

  auto operator<=>(const ContentId&) const = default;
};

// May a delta of `target` be kept against `base`?
inline bool may_be_base(const ContentId& base, const ContentId& target) {
  return base.collection == target.collection && base > target;
}

// "7:123@5", for messages.
std::string to_string(const ContentId& id);

// Where a content stands among its versions. The chain is named by the record
// that began it; ordinals go up along it and tell the hop policy whom to
// re-encode against whom. Neither is needed to decode.
struct Placement {
  int64_t chain = 0;
  uint32_t ordinal = 0;

  auto operator<=>(const Placement&) const = default;
};

// Whose versions these are, where the caller knows: a hash of what the versions of one thing have in common, as a
// page's id. 0: unknown. Contents of one collection succeed each other only within a lineage.
using Lineage = uint64_t;
constexpr Lineage no_lineage = 0;

// Why one content was taken as the source of another.
enum class Choice : uint8_t {
  given,   // nothing was looked for: the version before, a hop base, what a dead content was based on
  match,   // first in rank, whatever the source cache held
  cached,  // first in rank for being in the source cache
  tried,   // others ranked above it, but could not be had, were deltas already or would have made longer ones
};

// Plug: whole contents by name.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // The content, decoded; nullopt: gone, changed, or too dear to fetch now.
  virtual std::optional<Bytes> fetch(const ContentId& id) = 0;
};

}  // namespace dedup

template <>
struct std::hash<dedup::ContentId> {
  size_t operator()(const dedup::ContentId& id) const noexcept {
    uint64_t h = static_cast<uint64_t>(id.record) * 0x9e3779b97f4a7c15ull;
    h ^= (id.generation + (uint64_t{id.collection} << 40)) * 0xc2b2ae3d27d4eb4full;
    return h ^ (h >> 29);
  }
};
