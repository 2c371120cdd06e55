// The text of prelude.js, which the build embeds.
#pragma once

#include <string_view>

namespace server::script {

extern const std::string_view prelude;

}  // namespace server::script
