// What databases and collections may be called.
#pragma once

#include <string_view>

namespace server {

// 1 to 63 bytes without / \ . " space and NUL. A ref behind an `@` (shop@dev~2) is
// not counted in the length but may not be longer than 255 bytes itself.
bool valid_database_name(std::string_view name);

// Not empty, no leading dot, no `$` and no NUL.
bool valid_collection_name(std::string_view name);

}  // namespace server
