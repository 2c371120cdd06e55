// {$percentile: {input, p: [0.5, 0.9], method: 'approximate'}} and {$median: {input, method}}: in $group, in windows, and over an
// array.
#pragma once

#include "server/query/expressions/accumulate.h"
#include "server/query/expressions/expression.h"

namespace server::query {

struct PercentileCall {
  ExpressionPtr input;
  AccumulatorSettings settings;
};
// Throws what MongoDB answers for a bad one. `value` is what stands behind the name.
PercentileCall parse_percentile(std::string_view name, const bson::ValueView& value, Scope& scope);

}  // namespace server::query
