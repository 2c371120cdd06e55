// Several scans, each in the order of a sort, give that order together when their results are merged.
#pragma once

#include "server/query/plan/access.h"

namespace server::query::plan {

// Splits a scan whose leading fields are bound to several values, as {a: {$in: [1, 2]}} binds them, into one scan for each
// combination of values. Does so only if that gives the order of the sort, and there are at most 200 combinations.
void explode_for_sort(Access& access, const SortPattern& sort, Allowance& allowance);

// Returns whether every branch of an $or comes in the order of the sort; then they are to be merged, and `access` says so.
bool merge_branches(Access& access, const SortPattern& sort);

}  // namespace server::query::plan
