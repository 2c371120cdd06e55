// JSON has no form of its own for some values: objects and calls stand for them. This file is internal to the JSON parser; a
// missing value means malformed input.
#pragma once

#include "bson/document.h"
#include "bson/value.h"

namespace bson::json_types {

// Tells whether a first field of this name makes the object stand for another value.
bool is_wrapper(std::string_view name);
Value unwrap(DocumentView wrapper);  // {"$oid": "…"} and the like

// Makes the value of a call such as ObjectId("…"); `arguments` is an array.
Value call(std::string_view name, DocumentView arguments);

// Returns an int32 if the number fits, else an int64 if it fits, else a double.
Value number(std::string_view text);
Value regex(std::string_view pattern, std::string_view options);

void append_utf8(std::string& out, uint32_t code_point);

}  // namespace bson::json_types
