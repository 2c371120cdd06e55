// hint, min, max and $natural let the client choose the plan.
#pragma once

#include <optional>

#include "server/query/plan/access.h"
#include "server/query/query.h"

namespace server::query::plan {

// Returns the scan of the hinted index; nullopt: no index is hinted, or a wildcard index is. Throws BadValue if the index doesn't
// exist, 51174 and 51175 for min and max that don't fit it, NoQueryExecutionPlans for an index that lacks documents which may
// match.
std::optional<Access> hinted(const storage::Collection& collection, const Query& query, const Predicates& predicates,
                             Allowance& allowance);

// Returns the hinted index; nullptr: none is. Throws BadValue if it doesn't exist.
std::shared_ptr<const storage::Index> hinted_index(const storage::Collection& collection, const Query& query);

// Throws NoQueryExecutionPlans: the hinted index lacks documents that may match.
[[noreturn]] void refuse_hint(const storage::Collection& collection);

// Reads {$natural: ±1} as the hint or the sort.
std::optional<storage::Direction> natural_direction(const Query& query);
// Returns whether the sort is $natural: then nothing needs to be sorted.
bool sorts_naturally(const Query& query);

}  // namespace server::query::plan
