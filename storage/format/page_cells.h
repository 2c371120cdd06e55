// These functions read the cells of WiredTiger's row-store leaf pages, as far as page_columns.h has to distinguish them
// (WiredTiger 11, src/include/cell.h).
//
//   short key     (bytes << 2 | 1)             bytes           bytes < 64
//   ... prefixed  (bytes << 2 | 2) prefix      bytes           the rest is that of the key before
//   short value   (bytes << 2 | 3)             bytes
//   key           50 length                    bytes           length: packed, 64 less
//   ... prefixed  70 prefix length             bytes
//   value         80 length                    bytes
//   value with a window of visibility: 08 in the first byte, then which numbers follow, and they
//
// Anything else, such as overflow items and addresses, is not read as a cell here.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

using base::Bytes;
using base::BytesView;

struct PageCell {
  bool key = false;
  uint8_t prefix = 0;  // a key has so many bytes in common with the key before
  BytesView header;    // it is everything before the data
  BytesView data;
};

// Removes a cell from the front of `in` and returns it. Returns nullopt, and leaves `in` unchanged, if no known cell is there.
std::optional<PageCell> take_cell(BytesView& in);

// These make headers as WiredTiger writes them.
Bytes key_header(uint8_t prefix, size_t bytes);
Bytes value_header(size_t bytes);

// Returns how many bytes WiredTiger leaves out of a key that has `same` bytes in common with the key before.
uint8_t usual_prefix(size_t same);

}  // namespace storage
