// The chunker cuts a content where its own bytes say so: a boundary stays with
// the text around it, wherever an insertion moves that text.
#pragma once

#include <vector>

#include "dedup/content.h"

namespace dedup {

enum class ChunkMethod : uint8_t {
  gear,   // a shifted sum of one random number a byte: fast
  rabin,  // Rabin fingerprint of the last 48 bytes, as in dbDedup §3.1
};

// Returns the ends of the chunks, of which the last is content.size(). Chunks have `average_bytes` (a power
// of two) on random bytes, never less than a quarter of that, except for the last, nor more than four
// times.
std::vector<size_t> cut(BytesView content, ChunkMethod method, uint32_t average_bytes);

}  // namespace dedup
