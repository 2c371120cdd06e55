#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "versions/merkle/sha256_lanes.h"

namespace versions::merkle {
using Sixteen __attribute__((vector_size(64))) = uint32_t;
void compress_16(uint32_t (*state)[lanes_max], const uint8_t* const* blocks) {
  compress<Sixteen, 16>(state, blocks);
}
}  // namespace versions::merkle
#endif
