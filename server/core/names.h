// These functions check the names of databases and collections.
#pragma once

#include <string_view>

namespace server {

// A database's name has 1 to 63 bytes without / \ . " space and NUL. A ref behind an `@` (shop@dev~2) isn't part of that length,
// but is at most 255 bytes long itself.
bool valid_database_name(std::string_view name);

// A collection's name isn't empty, and has no leading dot, no `$` and no NUL.
bool valid_collection_name(std::string_view name);

}  // namespace server
