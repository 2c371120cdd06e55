// A query's shape is its form without the values: {a: 5, b: {$in: [1, 2]}} and {b: {$in: [7]}, a: 9} have the same.
#pragma once

#include <string>

#include "bson/collator.h"
#include "bson/document.h"

namespace server::query {

// Returns a text that is equal for queries of one shape, and for those alone. Sort, projection and collation count with all their
// values.
std::string query_shape(bson::DocumentView filter, bson::DocumentView sort, bson::DocumentView projection,
                        const bson::Collator* collator);
// Returns 8 hexadecimal digits that name the shape.
std::string shape_digest(const std::string& shape);

}  // namespace server::query
