// A wildcard index has an entry for each value of a document that isn't an object or an array itself: the value's path, and the
// value.
//
//   {"$**": 1}  over  {a: 5, b: {c: [1, {d: 2}]}}  ->  "a" 5    "b.c" 1    "b.c.d" 2
//   {"b.$**": 1}                                   ->           "b.c" 1    "b.c.d" 2
//   {a: 1, "b.$**": 1}                             ->           5 "b.c" 1  5 "b.c.d" 2
//
// Positions in arrays are no part of a path. An array within an array is a value as it is. An empty array counts as undefined.
// Fields with a dot in their names are left out. An object that gives no entry otherwise has the entry {}, so that each value of
// the index's paths leaves a trace below its path.
//
// A compound index has an entry for every document: MinKey, MinKey stand for the path and value that there aren't.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bson/value.h"
#include "storage/indexes/index_keys.h"

namespace storage {

struct WildcardIndex {
  size_t position = 0;  // of the wildcard among the key's fields
  // Either the index has what lies on one of `paths` or below, or everything else. They are sorted.
  bool includes = false;
  std::vector<std::string> paths;
  bson::Document projection;  // wildcardProjection as it was given; it is empty if there is none

  enum class Part : uint8_t { none, some, all };
  // Returns whether the index has the values on and below a path. `some`: of an excluding index, the path itself and a part of
  // what lies below; of an including one, only a part of what lies below.
  Part part(std::string_view path) const;
  // Returns whether it has every value on the path itself.
  bool has(std::string_view path) const { return part(path) == Part::all || (!includes && part(path) == Part::some); }
  bool same_paths(const WildcardIndex& other) const { return includes == other.includes && paths == other.paths; }
};

// Returns whether the name stands for all fields below it: "$**", "a.$**".
bool is_wildcard(std::string_view name);

// Sets `spec.wildcard`, whose key has a wildcard. Throws in MongoDB's words (67, 7246200 …, 31253 …).
void parse_wildcard_index(bson::DocumentView given, IndexSpec& spec);

// Calls `each` for every entry that a document has, with its path and value. Adds the paths of arrays.
using EachLeaf = std::function<void(std::string_view path, const bson::ValueView& value)>;
void each_leaf(const WildcardIndex& index, bson::DocumentView document, const EachLeaf& each, std::set<std::string>& arrays);

}  // namespace storage
