#include "server/query/expressions/registry.h"

#include <string>
#include <unordered_map>

#include "base/error.h"

namespace server::query {
namespace {

const std::unordered_map<std::string_view, OperatorParser>& operators() {
  static const auto table = [] {
    std::unordered_map<std::string_view, OperatorParser> all;
    for (const auto family : operator_families()) {
      for (const OperatorEntry& entry : family) all.emplace(entry.name, entry.parse);
    }
    return all;
  }();
  return table;
}

}  // namespace

std::vector<std::span<const OperatorEntry>> operator_families() {
  return {arithmetic_operators(),  array_operators(),      boolean_operators(),      comparison_operators(),
          conditional_operators(), conversion_operators(), date_operators(),         meta_operators(),
          object_operators(),      percentile_operators(), regex_operators(),        script_operators(),
          set_operators(),         string_operators(),     trigonometry_operators(), variable_operators()};
}

ExpressionPtr make_operator(std::string_view name, const bson::ValueView& value, Scope& scope) {
  const auto found = operators().find(name);
  if (found == operators().end()) {
    throw base::OperationError(base::ErrorCode::invalid_pipeline_operator, "Unrecognized expression '" + std::string(name) + "'");
  }
  return found->second(name, value, scope);
}

}  // namespace server::query
