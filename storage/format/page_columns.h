// A page of rows laid out by columns, so that a compressor sees like beside like.
//
// WiredTiger hands a page to a compressor as it lies on disk: cell after cell,
// a key, a value. What neighbouring rows have in common - ids that count up,
// stamps of one second, a base that is the next row - is told anew in each, and
// what can't be compressed (checksums) interrupts what can.
//
//   page     key 4 | stub     key 5 | raw .. BSON      key 6 | raw .. BSON
//   numbers  forms 2 1 1 | ids +4 +1 +1 | seconds +s 0 0 | counts +c 0 0 ...
//   plain    checksums
//   bodies   BSON BSON
//
// Splitting is exact: what is joined again is the page, byte for byte, or nothing.
// Rows in memory and in tables don't know of it. docs/formats/pages.md
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

using base::Bytes;
using base::BytesView;

struct PageColumns {
  Bytes numbers;  // small numbers and cells that are odd
  Bytes plain;    // checksums: not worth compressing
  Bytes bodies;   // documents, instructions, keys
};

enum class PageKind : uint8_t {
  contents,  // rows of `records`, `packed` and `chains`
  entries,   // of an index
};

// nullopt: not a page of such rows, or too few of them. Joined and compared before it is given out.
std::optional<PageColumns> split_page(BytesView page, PageKind kind);

// nullopt: damaged, or longer than `bytes_max`. Trusts nothing.
std::optional<Bytes> join_page(BytesView numbers, BytesView plain, BytesView bodies, size_t bytes_max);

}  // namespace storage
