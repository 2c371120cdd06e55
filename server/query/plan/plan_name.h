// Names by which the plan cache knows a plan again, and the indexes among which it was chosen.
#pragma once

#include <string>

#include "server/query/plan/access.h"

namespace server::query::plan {

// Returns a text that differs between the ways of one query, and is the same for queries of one shape that go the same way: the
// kinds of scans, their indexes and directions, and whether they give the order of the sort.
std::string plan_name(const Access& access);

// Returns a text that changes when a query could be planned otherwise: with the indexes, and with the fields that have arrays.
std::string index_fingerprint(const storage::Collection& collection);

// Returns 8 hexadecimal digits that name a query's shape together with the indexes that exist. `collection` may be nullptr.
std::string plan_key(std::string shape, const storage::Collection* collection);

}  // namespace server::query::plan
