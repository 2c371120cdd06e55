// What the client insists on: hint, min and max, $natural.
#pragma once

#include <optional>

#include "server/query/plan/access.h"
#include "server/query/query.h"

namespace server::query::plan {

// The scan of the hinted index; nullopt: no index is hinted. Throws BadValue for one that isn't
// there, 51174 and 51175 for min and max that don't fit it.
std::optional<Access> hinted(const storage::Collection& collection, const Query& query, const Predicates& predicates);

// From {$natural: ±1} as the hint or the sort.
std::optional<storage::Direction> natural_direction(const Query& query);
// Whether the sort is that: then there is nothing to sort.
bool sorts_naturally(const Query& query);

}  // namespace server::query::plan
