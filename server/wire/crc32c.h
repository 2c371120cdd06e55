// CRC-32C (Castagnoli), the checksum of OP_MSG.
#pragma once

#include "base/bytes.h"

namespace server::wire {

// `before` goes on from an earlier piece's result.
uint32_t crc32c(base::BytesView bytes, uint32_t before = 0);
// The same without the machine's instruction for it.
uint32_t crc32c_by_table(base::BytesView bytes, uint32_t before = 0);

}  // namespace server::wire
