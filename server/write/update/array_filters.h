// arrayFilters, such as [{"x.a": {$gt: 5}}, {y: "b"}], have one filter per
// identifier.
#pragma once

#include "server/write/update/modifier.h"

namespace server::write {

// Throws FailedToParse (9) or BadValue (2).
ArrayFilters parse_array_filters(bson::DocumentView filters, const PredicateCompiler& compile);

}  // namespace server::write
