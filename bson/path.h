// Dotted paths are followed here, with MongoDB's treatment of arrays.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bson/document.h"

namespace bson {

// Splits "a.b.0" into {"a", "b", "0"}.
std::vector<std::string_view> split_path(std::string_view path);
bool is_array_index(std::string_view component);

// Returns the value at the path, going through objects and, by number, through arrays; it never fans out. The value is missing
// where the path ends early.
ValueView value_at(DocumentView document, std::string_view path);

// Visits every value that a query on `path` looks at, with arrays on the way fanned out: for {a: [{b: 1},
// {b: [2, 3]}]} and "a.b": 1 and [2, 3]. A numeric component meets both an array's position and a field
// of that name. The visitor returns false to stop. `fanned` says whether an array was fanned out on the
// way. A branch that ends early yields a missing value (once per branch). Returns false when it was
// stopped.
using PathVisitor = std::function<bool(const ValueView& value, bool fanned)>;
bool visit_path(DocumentView document, std::string_view path, const PathVisitor& visitor);

}  // namespace bson
