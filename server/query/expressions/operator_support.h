// Operator families are written with these helpers: an operator over evaluated
// arguments is a plain function, which is wrapped and whose number of arguments is
// checked here.
#pragma once

#include <span>
#include <string>

#include "base/error.h"
#include "server/query/expressions/registry.h"

namespace server::query {

using bson::Type;
using bson::Value;
using bson::ValueView;
using Arguments = std::span<const ValueView>;

using OperatorFunction = Value (*)(std::string_view name, Arguments arguments);
// The function of an operator whose work may grow faster than its arguments, or may be much: it accounts for it to the frame.
using WorkingFunction = Value (*)(Frame& frame, std::string_view name, Arguments arguments);

// Throws 16020, 28667 in MongoDB's words. `most` < 0: there is no limit.
void check_arity(std::string_view name, size_t given, int least, int most);

// `plain`: it counts nothing itself, and what it makes is about as large as its arguments.
ExpressionPtr make_function(std::string_view name, std::vector<ExpressionPtr> arguments, WorkingFunction function, bool plain);

// The parser of an operator that applies `function` to its arguments.
template <OperatorFunction function, int least, int most = least>
ExpressionPtr function_of(std::string_view name, const ValueView& value, Scope& scope) {
  auto arguments = parse_arguments(value, scope);
  check_arity(name, arguments.size(), least, most);
  return make_function(
      name, std::move(arguments), [](Frame&, std::string_view called, Arguments given) { return function(called, given); }, true);
}
template <WorkingFunction function, int least, int most = least>
ExpressionPtr working_function_of(std::string_view name, const ValueView& value, Scope& scope) {
  auto arguments = parse_arguments(value, scope);
  check_arity(name, arguments.size(), least, most);
  return make_function(name, std::move(arguments), function, false);
}

// The named parameters of operators like $map are parsed; unknown and missing ones are refused.
struct Parameter {
  std::string_view name;
  bool required = false;
  ExpressionPtr expression = nullptr;
  int missing_code = 0;  // 0: the same code as for all
};
// An error about one parameter; "{}" in the text stands for its name.
struct ParameterError {
  int code;
  std::string text;
};
void parse_parameters(std::string_view name, const ValueView& value, Scope& scope, std::span<Parameter> parameters,
                      int not_object_code, const ParameterError& unknown, const ParameterError& missing);

// An operator that needs the frame itself calls `evaluate(frame)`.
template <class Evaluate>
class Evaluated final : public Expression {
 public:
  explicit Evaluated(Evaluate evaluate) : evaluate_(std::move(evaluate)) {}
  Value compute(Frame& frame) const override {
    frame.work();
    return evaluate_(frame);
  }

 private:
  Evaluate evaluate_;
};
template <class Evaluate>
ExpressionPtr evaluated(Evaluate evaluate) {
  return std::make_unique<Evaluated<Evaluate>>(std::move(evaluate));
}

inline bool any_nullish(Arguments arguments) {
  for (const ValueView& argument : arguments) {
    if (argument.is_nullish()) return true;
  }
  return false;
}

[[noreturn]] inline void fail(int code, const std::string& message) {
  throw base::OperationError(code, message);
}
inline std::string named(const ValueView& value) {
  return std::string(bson::type_name(value.type()));
}
// Returns the value as MongoDB's messages about arguments write it: "a", 5.5, [1, null], {a: 1}.
std::string value_text(const ValueView& value);

// Returns a whole number that fits 32 bits, as index and length arguments must.
std::optional<int64_t> whole_number(const ValueView& value);
// Returns an index between which a search goes on. Throws 40096, 40097.
int64_t search_limit(std::string_view op, const char* which, const ValueView& value);

}  // namespace server::query
