// Fields at dotted paths, as stages that look elsewhere read and set them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"
#include "bson/value.h"

namespace server::query {

// The document with `value` at the path; objects on the way are made, other values there give way.
bson::Document with_field_at(bson::DocumentView document, std::string_view path, const bson::Value& value);

// An expression for the fields of a document at these paths: {a: "$a", b: {c: "$b.c"}}.
bson::Document own_fields(const std::vector<std::string>& paths);

// Values a document has at the path, arrays fanned out; null where it has none.
void collect_values(const bson::ValueView& value, std::string_view path, std::vector<bson::Value>& out, bool fan = true);

}  // namespace server::query
