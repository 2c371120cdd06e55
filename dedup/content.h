// A content is an immutable run of bytes with a name. Only the encoder and the
// decoder know how it is kept on disk, whole or as a delta against another
// content.
//
// Contents of one collection are ranked by (record, generation). A delta's base always ranks strictly above
// what it encodes, so a chain of deltas can't have a cycle; both the making and the reading of a delta check
// that.
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

// Tells whether a delta of `target` may be kept against `base`.
inline bool may_be_base(const ContentId& base, const ContentId& target) {
  return base.collection == target.collection && base > target;
}

// Returns "7:123@5", for messages.
std::string to_string(const ContentId& id);

// A placement says where a content stands among its versions. The record that began the chain names it;
// ordinals go up along it and tell the hop policy which contents to re-encode against which. Decoding needs
// neither.
struct Placement {
  int64_t chain = 0;
  uint32_t ordinal = 0;

  auto operator<=>(const Placement&) const = default;
};

// The lineage, where the caller knows it: a hash of what the versions of one thing have in common, such as a page's id. 0 says
// that it is unknown. Contents of one collection succeed each other only within a lineage.
using Lineage = uint64_t;
constexpr Lineage no_lineage = 0;

// These are the reasons why one content was taken as the source of another.
enum class Choice : uint8_t {
  given,   // nothing was looked for: the version before, a hop base, what a dead content was based on
  match,   // first in rank, whatever the source cache held
  cached,  // ranked first because it is in the source cache
  tried,   // others ranked above it, but could not be had, were deltas already or would have made longer ones
};

// The caller implements this to give whole contents by name.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // Returns the content, decoded; nullopt when it is gone, has changed, or would cost too much to fetch now.
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
