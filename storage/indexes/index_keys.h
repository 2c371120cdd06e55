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
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "bson/document.h"
#include "storage/indexes/index.h"

namespace storage {

struct IndexKeys {
  std::vector<Bytes> keys;       // key strings, sorted, each once
  std::vector<Bytes> types;      // of each (bson/key_types.h); empty where all of them are
  uint32_t multikey_fields = 0;  // bit i: an array lay on the path of field i

  BytesView types_at(size_t i) const { return types.empty() ? BytesView() : BytesView(types[i]); }
  void add(Bytes key, Bytes its_types);
  void clear();
};

// The document's keys; the partial filter is not asked here. Replaces what is in `out`.
void index_keys(const IndexSpec& spec, bson::DocumentView document, IndexKeys& out);

// Which entries a change of the document takes away, brings, and leaves under their keys with other types.
struct EntryChanges {
  IndexKeys gone, come;
  IndexKeys were, are;  // the same keys
};
EntryChanges entry_changes(const IndexKeys& before, const IndexKeys& after);

// The values behind one of these keys, under the index's field names: {a: 5, "b.c": 1}.
bson::Document index_key_values(const IndexSpec& spec, bson::DocumentView document, BytesView key);

}  // namespace storage
