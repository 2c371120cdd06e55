// The form of a query, its values left out: {a: 5, b: {$in: [1, 2]}} and {b: {$in: [7]}, a: 9} have the same.
#pragma once

#include <string>

#include "bson/document.h"

namespace server::query {

// Text that is equal for queries of one shape, and for those alone. Sort and projection count with all they say.
std::string query_shape(bson::DocumentView filter, bson::DocumentView sort, bson::DocumentView projection);
// 8 hexadecimal digits of it.
std::string shape_digest(const std::string& shape);

}  // namespace server::query
