// A delta says how to make one content out of another by copies and insertions.
//
//   delta    varint  target length
//            then, until the target is complete:
//            varint  insert length     bytes to take from the delta itself
//            bytes   inserted
//            varint  copy length       only where the target is not yet complete
//            varint  copy from, as zigzag distance from where the last copy ended
//
// One pass over both contents finds what they share; the same copies, turned
// around, give the delta in the other direction (dbDedup, Algorithm 5).
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "dedup/content.h"

namespace dedup {

enum class DeltaMethod : uint8_t {
  resync,   // common ends by vector compare, a look around after each mismatch, then an index of the source
  anchors,  // Algorithm 4: rolling hash, every n-th position an anchor
};

struct DeltaOptions {
  DeltaMethod method = DeltaMethod::resync;
  uint32_t anchor_interval = 64;         // anchors only; a power of two
  size_t literal_bytes_max = SIZE_MAX;   // give up once so much of the target was found nowhere in the source
  size_t backward_bytes_max = SIZE_MAX;  // for one of two ways: a longer backward delta is not worth writing, and left empty
};

// It says that source[source_at, +bytes) == target[target_at, +bytes).
struct Copy {
  size_t source_at;
  size_t target_at;
  size_t bytes;
};

// Returns the parts of `target` that lie in `source`, by target position, without overlap in the
// target. Returns nullopt when it gave up, having found too little (literal_bytes_max) or too small
// pieces.
std::optional<std::vector<Copy>> find_copies(BytesView source, BytesView target, const DeltaOptions& options);

// Writes the instructions for `target` out of copies as find_copies returned them.
Bytes write_delta(BytesView target, const std::vector<Copy>& copies);

// Returns the same copies seen from the other side, so that write_delta(source, ...) makes the source out of the
// target.
std::vector<Copy> turned_around(std::vector<Copy> copies);

struct TwoWay {
  Bytes forward;   // source -> target
  Bytes backward;  // target -> source; empty where it would be longer than backward_bytes_max
};

std::optional<Bytes> encode(BytesView source, BytesView target, const DeltaOptions& options = {});
std::optional<TwoWay> encode_two_way(BytesView source, BytesView target, const DeltaOptions& options = {});

struct DeltaLimits {
  size_t output_bytes_max = 64 << 20;
};

// Damaged or hostile deltas are an expected answer. Work and memory are bounded
// by the limits and the delta's own length.
base::Result<Bytes> apply(BytesView source, BytesView delta, const DeltaLimits& limits = {});

// Applies it into a buffer that is used again, which must be neither of the two. On failure `out` holds
// anything.
std::optional<base::Failure> apply_to(Bytes& out, BytesView source, BytesView delta, const DeltaLimits& limits = {});

// Applies it to the source itself, whose bytes that stay in place aren't touched. `spare` is for deltas that change the order of
// bytes, or have a great many pieces. On failure `content` is as it was.
std::optional<base::Failure> apply_onto(Bytes& content, BytesView delta, Bytes& spare, const DeltaLimits& limits = {});

// Tells whether the delta makes exactly this content; it is compared piece by piece and never put together.
bool makes(BytesView source, BytesView delta, BytesView target);

// Returns the length of what the delta makes, without making it; nullopt where it can't be read.
std::optional<size_t> target_bytes(BytesView delta);

}  // namespace dedup
