// A column block is a page that was laid out by columns and then compressed. It lies in the file like this:
//
//   | 43 | plain bytes varint | plain ... | zstd frame: numbers | zstd frame: bodies |
//
// A page that is not laid out by columns is one zstd frame, which begins with other bytes. docs/formats/pages.md describes both.
#pragma once

#include <zstd.h>

#include "base/result.h"
#include "storage/format/page_columns.h"

namespace storage {

// Returns the block's length, or 0 if `to` has too little room. `dictionary` is used for the bodies.
size_t write_column_block(ZSTD_CCtx* context, const PageColumns& columns, BytesView dictionary, int level, uint8_t* to,
                          size_t to_bytes);

bool is_column_block(BytesView block);

// A parsed block shows where the frame of the bodies begins, which names its dictionary; with that, the page itself can be read.
// Block and page may end in zeroes that nobody wrote. Both calls fail with DataCorruptionDetected.
struct ColumnBlock {
  BytesView plain, numbers, bodies;  // the last two are compressed
};
base::Result<ColumnBlock> parse_column_block(BytesView block);
// `dictionary` is that of the bodies; it may be null.
base::Result<Bytes> read_column_block(ZSTD_DCtx* context, const ColumnBlock& block, const ZSTD_DDict* dictionary,
                                      size_t page_bytes_max);

}  // namespace storage
