// The registry finds operators by name. A family is one file; a new operator is a
// line in its family's table, a new family a line in registry.cpp.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "server/query/expressions/expression.h"

namespace server::query {

// `value` is the operator's argument.
using OperatorParser = ExpressionPtr (*)(std::string_view name, const bson::ValueView& value, Scope& scope);

struct OperatorEntry {
  std::string_view name;
  OperatorParser parse;
};

// Throws 168 InvalidPipelineOperator "Unrecognized expression '$x'" for an unknown operator.
ExpressionPtr make_operator(std::string_view name, const bson::ValueView& value, Scope& scope);

// Returns the families of all operators.
std::vector<std::span<const OperatorEntry>> operator_families();

std::span<const OperatorEntry> arithmetic_operators();
std::span<const OperatorEntry> array_operators();
std::span<const OperatorEntry> boolean_operators();
std::span<const OperatorEntry> comparison_operators();
std::span<const OperatorEntry> conditional_operators();
std::span<const OperatorEntry> conversion_operators();
std::span<const OperatorEntry> date_operators();
std::span<const OperatorEntry> meta_operators();
std::span<const OperatorEntry> object_operators();
std::span<const OperatorEntry> percentile_operators();
std::span<const OperatorEntry> regex_operators();
std::span<const OperatorEntry> script_operators();
std::span<const OperatorEntry> set_operators();
std::span<const OperatorEntry> string_operators();
std::span<const OperatorEntry> trigonometry_operators();
std::span<const OperatorEntry> variable_operators();

}  // namespace server::query
