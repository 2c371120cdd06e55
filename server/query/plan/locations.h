// Predicates on locations become bounds over the keys of "2dsphere" and "2d" indexes here.
#pragma once

#include "geo/cells.h"
#include "server/query/match/geo.h"
#include "server/query/plan/access.h"
#include "server/query/plan/bounds.h"

namespace server::query::plan {

// Returns the cells that a node on this path may find; nullopt if the keys don't help.
std::optional<Bounds> location_bounds(const match::PathNode& node, const KeyForm& keys);

// Returns whether one of the predicates is on locations of the index: only documents with locations are in it.
bool has_location_predicate(const storage::Index& index, const Predicates& predicates);

// Returns whether only documents of the index can match: it has every document, or the predicates want a location of it. They
// may say nothing about its keys.
bool asks_for_locations(const storage::Index& index, const Predicates& predicates);

// Returns whether the index isn't partial, or its filter follows from the predicates.
bool covers_partial(const storage::Index& index, const Predicates& predicates, Allowance& allowance);

Intervals intervals_of(const geo::CellRanges& ranges);

// Returns the way to the records that are near; its records come in the order of distance. Throws NoQueryExecutionPlans if no
// index fits.
Access near_access(const std::vector<std::shared_ptr<const storage::Index>>& indexes, const storage::Collection& collection,
                   const match::NearNode& near, const Predicates& predicates, Allowance& allowance);

}  // namespace server::query::plan
