// Hexadecimal digits are read here; to_hex in bytes.h writes them.
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace base {

// Reads digits of either case. Returns nullopt for an odd number of them, or for another character.
std::optional<Bytes> from_hex(std::string_view digits);

}  // namespace base
