// All hashes are xxh3. None of them serves security.
#pragma once

#include "base/bytes.h"

namespace base {

uint64_t hash64(BytesView bytes, uint64_t seed = 0);

// The checksum that a content carries is the low half of hash64.
inline uint32_t checksum32(BytesView bytes) {
  return static_cast<uint32_t>(hash64(bytes));
}

}  // namespace base
