// Dotted paths, with MongoDB's treatment of arrays on the way.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bson/document.h"

namespace bson {

// "a.b.0" -> {"a", "b", "0"}
std::vector<std::string_view> split_path(std::string_view path);
bool is_array_index(std::string_view component);

// The value at the path, going through objects and, by number, through
// arrays; never fans out. Missing where the path ends early.
ValueView value_at(DocumentView document, std::string_view path);

// Every value that a query on `path` looks at, arrays on the way fanned out:
// for {a: [{b: 1}, {b: [2, 3]}]} and "a.b": 1 and [2, 3]. A numeric component meets both an
// array's position and a field of that name. The visitor returns false to stop. `fanned` tells whether
// an array was fanned out on the way. A branch that ends early yields a missing value (once per branch).
// Returns false when it was stopped.
using PathVisitor = std::function<bool(const ValueView& value, bool fanned)>;
bool visit_path(DocumentView document, std::string_view path, const PathVisitor& visitor);

}  // namespace bson
