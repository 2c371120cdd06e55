// BSON strings are UTF-8; old mail and old source files are whatever they are.
#pragma once

#include <string>
#include <string_view>

namespace datasets {

bool is_utf8(std::string_view text);

// The text itself when it is UTF-8, else read as Latin-1, the usual culprit.
std::string to_utf8(std::string_view text);

}  // namespace datasets
