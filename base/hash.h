// Hashes: xxh3 everywhere. Never for security.
#pragma once

#include "base/bytes.h"

namespace base {

uint64_t hash64(BytesView bytes, uint64_t seed = 0);

// The checksum a content carries: the low half of hash64.
inline uint32_t checksum32(BytesView bytes) {
  return static_cast<uint32_t>(hash64(bytes));
}

}  // namespace base
