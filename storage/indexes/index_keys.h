// These functions compute the keys that a document has under an index.
//
//   {a: 1, "b.c": 1}  over  {a: 5, b: [{c: 1}, {c: 2}, 7]}
//
//     5 1      each element of an array gives a key,
//     5 2
//     5 null   what a path doesn't reach counts as null
//
// An empty array at the path's end counts as undefined. An array within an array is a value like any other. A number in a path is
// a position if the array has it. Two different arrays in one key would multiply the keys, so such a document is refused (171).
//
// A document of a few megabytes may still have keys of terabytes: each element of an array repeats the other fields' values, and
// each leaf under a wildcard its whole path. So new keys are limited.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "bson/document.h"
#include "storage/indexes/index.h"

namespace storage {

struct IndexKeys {
  std::vector<Bytes> keys;       // these are key strings, sorted, each once
  std::vector<Bytes> types;      // these are the types of each key (bson/key_types.h), or nothing if all types are empty
  uint32_t multikey_fields = 0;  // bit i says that an array lay on the path of field i
  std::vector<std::string> multikey_paths;  // a wildcard index: the paths of the arrays, sorted, each once

  BytesView types_at(size_t i) const { return types.empty() ? BytesView() : BytesView(types[i]); }
  size_t bytes() const;  // of all keys and their types
  void add(Bytes key, Bytes its_types);
  void clear();
};

// Says how many bytes a document's keys may have under one index. The entries of a stored one have to be found and removed,
// however many they are, and a replayed write obeys what was decided elsewhere. A geospatial index has a limit of 100,000 keys
// besides, as in MongoDB, and a text index has limits of its terms instead (text_index.h).
struct KeyLimits {
  size_t bytes;

  static const KeyLimits none, of_new_keys;

  // `replayed`: another member decided on the write.
  static KeyLimits of_write(bool replayed);
  // A document that had keys of more bytes may have as many again.
  KeyLimits or_as(const IndexKeys& before) const {
    return bytes == none.bytes ? none : KeyLimits{std::max(bytes, before.bytes())};
  }
};
inline constexpr KeyLimits KeyLimits::none{std::numeric_limits<size_t>::max()};
inline constexpr KeyLimits KeyLimits::of_new_keys{64 << 20};
inline KeyLimits KeyLimits::of_write(bool replayed) {
  return replayed ? none : of_new_keys;
}

// Computes the document's keys and puts them in `out` in place of the old ones. It doesn't check the partial filter. Throws
// CannotBuildIndexKeys (201) beyond the limits.
void index_keys(const IndexSpec& spec, bson::DocumentView document, IndexKeys& out, KeyLimits limits = KeyLimits::none);

// EntryChanges says which entries a change of the document removes and adds, and which keep their keys but get other types.
struct EntryChanges {
  IndexKeys gone, come;
  IndexKeys were, are;  // these two have the same keys
};
EntryChanges entry_changes(const IndexKeys& before, const IndexKeys& after);

// Returns the values behind one of these keys, under the index's field names: {a: 5, "b.c": 1}.
bson::Document index_key_values(const IndexSpec& spec, bson::DocumentView document, BytesView key);

}  // namespace storage
