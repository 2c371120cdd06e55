// Two indexes that each bind one field may serve a filter over both together: the records that both have are few.
//
// The entries of one key come in the order of their records, so two such scans are intersected as they run (exec/and_sorted.h).
// Each scan finds every match by its own predicate, whatever arrays there are, and the whole filter is checked on the document.
#pragma once

#include "server/query/plan/access.h"

namespace server::query::plan {

// Returns whether `some` are all among `all`.
bool includes(const Predicates& all, const Predicates& some, Allowance& allowance);

// Adds intersections of two of the ways, unless one index bounds what both of them do. `predicates`: the whole filter's.
void add_intersections(std::vector<Access>& ways, const Predicates& predicates, Allowance& allowance);

}  // namespace server::query::plan
