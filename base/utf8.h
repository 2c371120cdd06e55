// UTF-8 is well-formed if it has no overlong forms, no surrogates, and nothing beyond U+10FFFF.
#pragma once

#include <cstddef>
#include <string_view>

namespace base {

// Returns how many bytes the well-formed character has that `text` begins with; 0: it begins with none.
size_t utf8_bytes(std::string_view text);

// Tells whether text is well-formed UTF-8. NUL is a character like others.
bool is_utf8(std::string_view text);

}  // namespace base
