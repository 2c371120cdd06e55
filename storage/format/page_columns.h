// A page of rows is laid out by columns, so that a compressor sees similar bytes side by side.
//
// WiredTiger hands a page to a compressor as it lies on disk: cell after cell, a key, a value. Many things are common to
// neighbouring rows, for example ids that count up, timestamps of one second, and a base that is the next row; but each row
// repeats them. Bytes that can't be compressed (checksums) interrupt those that can.
//
//   page     key 4 | stub     key 5 | raw .. BSON      key 6 | raw .. BSON
//   numbers  forms 2 1 1 | ids +4 +1 +1 | seconds +s 0 0 | counts +c 0 0 ...
//   plain    checksums
//   bodies   BSON BSON
//
// The split is exact: joined columns are the page, byte for byte, or the page isn't split at all. Rows in memory and in tables
// are not affected. docs/formats/pages.md describes the columns.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

using base::Bytes;
using base::BytesView;

struct PageColumns {
  Bytes numbers;  // it holds small numbers and the bytes of unusual cells
  Bytes plain;    // it holds checksums, which are not worth compressing
  Bytes bodies;   // it holds documents, instructions and keys
};

enum class PageKind : uint8_t {
  contents,  // the rows are those of `records`, `packed` and `chains`
  entries,   // the rows are entries of an index
};

// Splits a page. Returns nullopt if the page has no such rows, or too few. The columns are joined and compared with the page
// before they are returned.
std::optional<PageColumns> split_page(BytesView page, PageKind kind);

// Joins columns to a page. Returns nullopt if they are damaged, or if the page would be longer than `bytes_max`. It trusts
// nothing in them.
std::optional<Bytes> join_page(BytesView numbers, BytesView plain, BytesView bodies, size_t bytes_max);

}  // namespace storage
