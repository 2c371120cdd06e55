#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#if defined(__x86_64__)
// The library's own choice among SSE2, AVX2 and AVX-512, made at run time. Its header can't stand beside the inlined one.
extern "C" XXH64_hash_t XXH3_64bits_withSeed_dispatch(const void* input, size_t length, XXH64_hash_t seed);
#endif

namespace base {

// What is short has no vectors to be chosen, and no call to be paid for.
uint64_t hash64(BytesView bytes, uint64_t seed) {
#if defined(__x86_64__)
  if (bytes.size() > XXH3_MIDSIZE_MAX) return XXH3_64bits_withSeed_dispatch(bytes.data(), bytes.size(), seed);
#endif
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace base
