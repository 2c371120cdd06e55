// Sorts, projections, distinct, stages and expressions name fields by paths with these rules.
#pragma once

#include <string_view>

namespace server::query {

// Throws 40352 (empty), 40353 (ends with a dot), 16411 (a NUL inside), 15998 (an empty part), 16410 (a part begins with $
// and isn't one of a DBRef's: $ref, $id, $db).
void check_field_path(std::string_view path);

}  // namespace server::query
