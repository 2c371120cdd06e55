// BSON strings are UTF-8; old mail and old source files are in whatever encoding their authors used.
#pragma once

#include <string>
#include <string_view>

namespace datasets {

// Returns the text itself when it is UTF-8, and otherwise reads it as Latin-1, the most likely other encoding.
std::string to_utf8(std::string_view text);

}  // namespace datasets
