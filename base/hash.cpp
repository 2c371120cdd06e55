#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(__x86_64__)
// The library chooses among SSE2, AVX2 and AVX-512 when the program runs. The header for that can't stand beside the inlined one.
extern "C" XXH64_hash_t XXH3_64bits_withSeed_dispatch(const void* input, size_t length, XXH64_hash_t seed);
#endif

namespace base {

// Short inputs take the scalar code: they don't fill a vector, and the call to the vector code would cost more than it saves.
uint64_t hash64(BytesView bytes, uint64_t seed) {
#if defined(__x86_64__)
  if (bytes.size() > XXH3_MIDSIZE_MAX) return XXH3_64bits_withSeed_dispatch(bytes.data(), bytes.size(), seed);
#endif
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace base
