// The values JSON has no form of its own for: the objects and calls that stand
// for them. Internal to the JSON parser; a missing value means malformed.
#pragma once

#include "bson/document.h"
#include "bson/value.h"

namespace bson::json_types {

// Does a first field of this name make the object stand for another value?
bool is_wrapper(std::string_view name);
Value unwrap(DocumentView wrapper);  // {"$oid": "…"} and the like

// ObjectId("…") and the like; `arguments` is an array.
Value call(std::string_view name, DocumentView arguments);

// An int32 if it fits, an int64 if that fits, a double.
Value number(std::string_view text);
Value regex(std::string_view pattern, std::string_view options);

void append_utf8(std::string& out, uint32_t code_point);

}  // namespace bson::json_types
