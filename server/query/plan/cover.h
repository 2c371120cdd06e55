// An index answers some queries from its keys, without the documents.
#pragma once

#include "server/query/plan/access.h"
#include "server/query/projection.h"
#include "server/query/query.h"

namespace server::query::plan {

// Sets `access.values`: the fields of the index that the query reads from the keys. That needs every path that is projected,
// still has to be checked or is sorted by to be a field of the index on which no document has an array. `projection` is nullptr
// if whole documents are wanted.
void mark_covered(Access& access, const storage::Collection& collection, const Query& query, const SortPattern& sort,
                  const Projection* projection, Allowance& allowance);

// Sets `access.distinct` if a covered scan can skip from one value of `query.distinct` to the next.
void mark_distinct(Access& access, const Query& query);

// Returns the scan of all of `index` for the different values of its first field.
std::optional<Access> distinct_scan(std::shared_ptr<const storage::Index> index, const storage::Collection& collection,
                                    const Query& query, const Projection* projection, Allowance& allowance);

}  // namespace server::query::plan
