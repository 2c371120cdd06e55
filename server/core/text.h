// These functions write values as MongoDB does in messages, plan summaries and
// index bounds.
#pragma once

#include <string>
#include <string_view>

#include "bson/document.h"

namespace server::query {

std::string show(const bson::ValueView& value);        // "a", 5, 5.0, { a: 1 }, ObjectId('…')
std::string show_element(const bson::Element& field);  // $size: -1
std::string show(bson::DocumentView document);         // { a: 1, b: -1.0 }

// Texts are UTF-8, and messages must be. Returns the whole character that begins at this byte.
std::string_view character_at(std::string_view text, size_t at);
// Returns the front of a text: at most so many bytes, and no part of a character.
std::string_view front_of(std::string_view text, size_t bytes_max);

}  // namespace server::query
