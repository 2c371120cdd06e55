// The planner finds the ways to answer a query that are worth trying.
//
// A way is dropped if another one bounds at least the same predicates at least as
// tightly and sorts as well. The remaining ones are tried side by side on the data
// for a moment (trial.h), as MongoDB does.
#pragma once

#include <vector>

#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "server/query/projection.h"
#include "server/query/query.h"

namespace server::query::plan {

// Returns at least one. Throws BadValue for a hint or min/max that fits no index, and what Allowance::work and MemoryBudget::hold
// throw.
std::vector<Access> ways(const std::shared_ptr<storage::Collection>& collection, const Query& query, const Matcher& matcher,
                         const SortPattern& sort, const Projection* projection, Allowance& allowance);

}  // namespace server::query::plan
