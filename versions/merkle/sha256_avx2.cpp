#if defined(__AVX2__)
#include "versions/merkle/sha256_lanes.h"

namespace versions::merkle {
using Eight __attribute__((vector_size(32))) = uint32_t;
void compress_8(uint32_t (*state)[lanes_max], const uint8_t* const* blocks) {
  compress<Eight, 8>(state, blocks);
}
}  // namespace versions::merkle
#endif
