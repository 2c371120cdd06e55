// A page as columns, compressed: what lies in a block of the file.
//
//   | 43 | plain bytes varint | plain ... | zstd frame: numbers | zstd frame: bodies |
//
// A page that is not laid out by columns is one zstd frame, which begins otherwise.
// docs/formats/pages.md
#pragma once

#include <zstd.h>

#include "base/result.h"
#include "storage/format/page_columns.h"

namespace storage {

// The block's length; 0: there is not so much room. `dictionary` is for the bodies.
size_t write_column_block(ZSTD_CCtx* context, const PageColumns& columns, BytesView dictionary, int level, uint8_t* to,
                          size_t to_bytes);

bool is_column_block(BytesView block);

// Where the bodies' frame begins, which names its dictionary; then the page itself. Block and page may end in zeroes
// that were not written. Fails with DataCorruptionDetected.
struct ColumnBlock {
  BytesView plain, numbers, bodies;  // the last two compressed
};
base::Result<ColumnBlock> parse_column_block(BytesView block);
// `dictionary`: of the bodies; may be null.
base::Result<Bytes> read_column_block(ZSTD_DCtx* context, const ColumnBlock& block, const ZSTD_DDict* dictionary,
                                      size_t page_bytes_max);

}  // namespace storage
