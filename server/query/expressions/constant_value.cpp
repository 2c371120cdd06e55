#include "server/query/expressions/constant_value.h"

#include "server/query/let_variables.h"

namespace server::query {

std::optional<bson::Value> constant_value(const bson::ValueView& expression, Scope& scope) {
  const ExpressionPtr parsed = parse_expression(expression, scope);
  if (const bson::Value* value = parsed->constant()) return *value;
  if (reads_anything(expression)) return std::nullopt;
  Frame none(scope);
  return parsed->evaluate(none);
}

}  // namespace server::query
