// These functions write values as MongoDB does in messages, plan summaries and
// index bounds.
#pragma once

#include <string>

#include "bson/document.h"

namespace server::query {

std::string show(const bson::ValueView& value);        // "a", 5, 5.0, { a: 1 }, ObjectId('…')
std::string show_element(const bson::Element& field);  // $size: -1
std::string show(bson::DocumentView document);         // { a: 1, b: -1.0 }

}  // namespace server::query
