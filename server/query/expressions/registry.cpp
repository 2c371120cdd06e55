#include "server/query/expressions/registry.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <unordered_map>

#include "base/error.h"
#include "server/query/operator_names.h"

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

// These are computed for each document, even if they read nothing of it.
constexpr std::string_view computed_late[] = {"$filter", "$function", "$getField",  "$map",        "$meta", "$rand",
                                              "$reduce", "$setField", "$sortArray", "$unsetField", "$zip"};

// An operator's value, computed while parsing. It isn't a constant() for those operators that demand one of their clients.
class Computed final : public Expression {
 public:
  explicit Computed(bson::Value value) : value_(std::move(value)) {}
  bson::Value compute(Frame&) const override { return value_; }
  bson::ValueView view(Frame&, bson::Value&) const override { return value_.view(); }

 private:
  bson::Value value_;
};

// `parsed` reads nothing. A value that is larger than what the client wrote isn't kept: many of them would need much memory.
ExpressionPtr computed(ExpressionPtr parsed, size_t written_bytes, Scope& scope) {
  if (parsed->constant()) return parsed;
  try {
    Frame none(scope);
    bson::Value value = parsed->evaluate(none);
    if (value.view().bytes().size() > written_bytes) return parsed;
    return std::make_unique<Computed>(std::move(value));
  } catch (const base::OperationError& error) {
    if (stops_operation(error.code())) throw;
    scope.note_failure(error);
    return parsed;
  }
}

}  // namespace

std::vector<std::span<const OperatorEntry>> operator_families() {
  return {arithmetic_operators(),  array_operators(),      boolean_operators(),      comparison_operators(),
          conditional_operators(), conversion_operators(), date_operators(),         meta_operators(),
          object_operators(),      percentile_operators(), regex_operators(),        script_operators(),
          set_operators(),         string_operators(),     trigonometry_operators(), variable_operators()};
}

bool is_operator(std::string_view name) {
  return operators().contains(name);
}

ExpressionPtr make_operator(std::string_view name, const bson::ValueView& value, Scope& scope) {
  const auto found = operators().find(name);
  if (found == operators().end()) {
    throw base::OperationError(base::ErrorCode::invalid_pipeline_operator, "Unrecognized expression '" + std::string(name) + "'");
  }
  const size_t reads = scope.reads();
  ExpressionPtr parsed = found->second(name, value, scope);
  if (std::ranges::find(computed_late, name) != std::end(computed_late)) scope.note_read();
  return scope.reads() == reads ? computed(std::move(parsed), value.bytes().size(), scope) : std::move(parsed);
}

}  // namespace server::query
