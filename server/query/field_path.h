// Sorts, projections, distinct, stages and expressions name fields by paths with these rules.
#pragma once

#include <cstddef>
#include <string_view>

namespace server::query {

// Paths are followed, and their fields are made, by recursion, so no path has more parts.
inline constexpr size_t field_path_parts_max = 200;

// Throws 40352 (empty), 40353 (ends with a dot), 16411 (a NUL inside), 15998 (an empty part), 16410 (a part begins with $
// and isn't one of a DBRef's: $ref, $id, $db), Overflow (too many parts).
void check_field_path(std::string_view path);

// Returns whether the name is that of a part of a DBRef: $ref, $id or $db.
bool is_dbref_field(std::string_view name);
// Returns whether check_field_path accepts the path.
bool is_field_path(std::string_view path);

// Projections refuse "a.$.b" with this text.
inline constexpr std::string_view positional_within_path =
    "As of 4.4, it's illegal to specify positional operator in the middle of a path."
    "Positional projection may only be used at the end, for example: a.b.$. If the query "
    "previously used a form like a.b.$.d, remove the parts following the '$' and the results "
    "will be equivalent.";

}  // namespace server::query
