// {$percentile: {input, p: [0.5, 0.9], method: 'approximate'}} and {$median: {input, method}} work in $group, in windows, and
// over an array.
#pragma once

#include "server/query/expressions/accumulate.h"
#include "server/query/expressions/expression.h"

namespace server::query {

struct PercentileCall {
  ExpressionPtr input;
  AccumulatorSettings settings;
};
// `value` is the operator's argument. Throws MongoDB's errors for a bad one.
PercentileCall parse_percentile(std::string_view name, const bson::ValueView& value, Scope& scope);

}  // namespace server::query
