// Stages read and set fields at dotted paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"
#include "bson/value.h"

namespace server::query {

// Returns the document with `value` at the path; objects on the way are made, and replace other values.
bson::Document with_field_at(bson::DocumentView document, std::string_view path, const bson::Value& value);

// Returns an expression for the fields of a document at these paths: {a: "$a", b: {c: "$b.c"}}.
bson::Document own_fields(const std::vector<std::string>& paths);

// Collects the values that a document has at the path, those in arrays of objects too; an array at its end counts as its
// elements. A number in the path after an array is a position in it.
void collect_values(bson::DocumentView document, std::string_view path, std::vector<bson::Value>& out);

}  // namespace server::query
