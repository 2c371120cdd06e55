// This is CRC-32C (Castagnoli), the checksum of OP_MSG.
#pragma once

#include "base/bytes.h"

namespace server::wire {

// `before` continues the result of an earlier piece.
uint32_t crc32c(base::BytesView bytes, uint32_t before = 0);
// Computes the same without the machine's instruction for it.
uint32_t crc32c_by_table(base::BytesView bytes, uint32_t before = 0);

}  // namespace server::wire
