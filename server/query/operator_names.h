// A projection tells an operator of the aggregation language from a field by its name.
#pragma once

#include <string_view>

namespace server::query {

// Returns whether `name` ("$add") is an operator of expressions.
bool is_operator(std::string_view name);

}  // namespace server::query
