// Which keys a document has under an index.
//
//   {a: 1, "b.c": 1}  over  {a: 5, b: [{c: 1}, {c: 2}, 7]}
//
//     5 1      each element of an array gives a key,
//     5 2
//     5 null   what a path doesn't reach counts as null
//
// An empty array under the path's end counts as undefined; an array within an
// array is a value like any other; a number in a path is a position where the
// array has it. Two different arrays in one key would multiply: refused (171).
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "bson/document.h"
#include "storage/index.h"

namespace storage {

struct IndexKeys {
  std::vector<Bytes> keys;        // key strings, sorted, each once
  uint32_t multikey_fields = 0;   // bit i: an array lay on the path of field i
};

// The document's keys; the partial filter is not asked here. Replaces what is in `out`.
void index_keys(const IndexSpec& spec, bson::DocumentView document, IndexKeys& out);

// The values behind one of these keys, under the index's field names: {a: 5, "b.c": 1}.
bson::Document index_key_values(const IndexSpec& spec, bson::DocumentView document, BytesView key);

}  // namespace storage
