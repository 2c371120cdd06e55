// Cells of WiredTiger's row-store leaf pages, as far as page_columns.h has to
// tell them apart (WiredTiger 11, src/include/cell.h).
//
//   short key     (bytes << 2 | 1)             bytes           bytes < 64
//   ... prefixed  (bytes << 2 | 2) prefix      bytes           the rest is that of the key before
//   short value   (bytes << 2 | 3)             bytes
//   key           50 length                    bytes           length: packed, 64 less
//   ... prefixed  70 prefix length             bytes
//   value         80 length                    bytes
//   value with a window of visibility: 08 in the first byte, then which numbers follow, and they
//
// Anything else - overflow items, addresses - is no cell here.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

using base::Bytes;
using base::BytesView;

struct PageCell {
  bool key = false;
  uint8_t prefix = 0;  // key: bytes in common with the one before
  BytesView header;    // all before the data
  BytesView data;
};

// Takes a cell off the front. nullopt, and `in` unchanged: there is none that is known here.
std::optional<PageCell> take_cell(BytesView& in);

// Headers as WiredTiger writes them.
Bytes key_header(uint8_t prefix, size_t bytes);
Bytes value_header(size_t bytes);

// How much of the key before is left out where so much is the same.
uint8_t usual_prefix(size_t same);

}  // namespace storage
