// The strongest of the compressors here: for what is written once and seldom read.
//
// The text is sorted by what follows each byte (Burrows and Wheeler, "A
// Block-sorting Lossless Data Compression Algorithm", 1994): the bytes that stand
// before like contexts come to lie together, most as runs. Each of those is told bit
// by bit into an arithmetic coder, whose probabilities are mixed from what the last
// bytes were (Mahoney, "Adaptive Weighing of Context Models", 2005).
//
//   text      banana        suffixes in order    a ana anana banana na nana
//   before    n n b . a a   (and of the empty one at the begin: a)
//   decision  the same again? else which, 8 bits
//
// Integers throughout: any machine gives the same bytes. A megabyte of wiki pages
// takes 11 % less than with zstd -19, one of JSON-like documents 25 %; it is written
// twice as fast and read a hundred times slower (docs/design/0002-bytes-on-disk.md).
#pragma once

#include <optional>

#include "base/bytes.h"

namespace dedup {

using base::Bytes;
using base::BytesView;

constexpr size_t sorted_bytes_max = (16 << 20) - 1;  // of a text

// Takes up to 16 bytes of memory for each of the text. `text` is at most sorted_bytes_max long.
Bytes sort_pack(BytesView text);
// nullopt: damaged, or longer than `text_bytes_max`. Not all damage is seen: whoever has to know keeps a checksum. 8 bytes of memory for
// each of the text.
std::optional<Bytes> sort_unpack(BytesView packed, size_t text_bytes_max);

}  // namespace dedup
