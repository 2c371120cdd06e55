// The value of an expression that needs no document.
#pragma once

#include <optional>

#include "server/query/expressions/expression.h"

namespace server::query {

// Returns nullopt if the expression reads a document or a variable whose value isn't known yet.
std::optional<bson::Value> constant_value(const bson::ValueView& expression, Scope& scope);

}  // namespace server::query
