// SASLprep normalizes a name or a password, so that equal texts typed on different keyboards are equal (RFC 4013).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace server::access {

// Returns nullopt for a text that may not be used: one with control or private characters, of mixed directions, or no UTF-8.
std::optional<std::string> saslprep(std::string_view text);

}  // namespace server::access
