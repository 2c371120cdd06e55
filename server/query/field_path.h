// Sorts, projections, distinct, stages and expressions name fields by paths with these rules.
#pragma once

#include <cstddef>
#include <string_view>

namespace server::query {

// What follows or makes the fields of a path does so by recursion: no path is longer.
inline constexpr size_t field_path_parts_max = 200;

// Throws 40352 (empty), 40353 (ends with a dot), 16411 (a NUL inside), 15998 (an empty part), 16410 (a part begins with $
// and isn't one of a DBRef's: $ref, $id, $db), Overflow (too many parts).
void check_field_path(std::string_view path);

// What projections say about "a.$.b".
inline constexpr std::string_view positional_within_path =
    "As of 4.4, it's illegal to specify positional operator in the middle of a path."
    "Positional projection may only be used at the end, for example: a.b.$. If the query "
    "previously used a form like a.b.$.d, remove the parts following the '$' and the results "
    "will be equivalent.";

}  // namespace server::query
