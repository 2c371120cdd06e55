#include "server/query/expressions/operator_support.h"

#include <cmath>

namespace server::query {
namespace {

class Function final : public Expression {
 public:
  Function(std::string_view name, std::vector<ExpressionPtr> arguments, WorkingFunction function)
      : name_(name), arguments_(std::move(arguments)), function_(function) {}

  Value compute(Frame& frame) const override {
    constexpr size_t few = 4;
    if (arguments_.size() <= few) {
      Value scratch[few];
      ValueView views[few];
      for (size_t i = 0; i < arguments_.size(); ++i) views[i] = arguments_[i]->view(frame, scratch[i]);
      return call(frame, {views, arguments_.size()});
    }
    std::vector<Value> scratch(arguments_.size());
    std::vector<ValueView> views(arguments_.size());
    for (size_t i = 0; i < arguments_.size(); ++i) views[i] = arguments_[i]->view(frame, scratch[i]);
    return call(frame, views);
  }

 private:
  // The work of most functions grows with the bytes of their arguments.
  Value call(Frame& frame, Arguments arguments) const {
    size_t bytes = 0;
    for (const ValueView& argument : arguments) bytes += argument.bytes().size();
    frame.work_on(bytes);
    return function_(frame, name_, arguments);
  }

  std::string name_;
  std::vector<ExpressionPtr> arguments_;
  WorkingFunction function_;
};

}  // namespace

void check_arity(std::string_view name, size_t given, int least, int most) {
  const std::string op(name);
  if (least == most && given != static_cast<size_t>(least)) {
    fail(16020, "Expression " + op + " takes exactly " + std::to_string(least) + " arguments. " + std::to_string(given) +
                    " were passed in.");
  }
  if (given < static_cast<size_t>(least) || (most >= 0 && given > static_cast<size_t>(most))) {
    if (most < 0) {
      fail(28667, "Expression " + op + " takes at least " + std::to_string(least) + " arguments, but " + std::to_string(given) +
                      " were passed in.");
    }
    fail(28667, "Expression " + op + " takes at least " + std::to_string(least) + " arguments, and at most " +
                    std::to_string(most) + ", but " + std::to_string(given) + " were passed in.");
  }
}

ExpressionPtr make_function(std::string_view name, std::vector<ExpressionPtr> arguments, WorkingFunction function) {
  return std::make_unique<Function>(name, std::move(arguments), function);
}

void parse_parameters(std::string_view name, const ValueView& value, Scope& scope, std::span<Parameter> parameters,
                      int not_object_code, int unknown_code, int missing_code) {
  const std::string op(name);
  if (value.type() != Type::object) fail(not_object_code, op + " only supports an object as its argument");
  for (const bson::Element& field : value.as_document()) {
    bool known = false;
    for (Parameter& parameter : parameters) {
      if (parameter.name != field.name) continue;
      parameter.expression = parse_expression(field, scope);
      known = true;
    }
    if (!known) fail(unknown_code, "Unrecognized parameter to " + op + ": " + std::string(field.name));
  }
  for (const Parameter& parameter : parameters) {
    if (parameter.required && !parameter.expression) {
      fail(parameter.missing_code ? parameter.missing_code : missing_code,
           "Missing '" + std::string(parameter.name) + "' parameter to " + op);
    }
  }
}

std::optional<int64_t> whole_number(const ValueView& value) {
  if (!value.is_number()) return std::nullopt;
  const double number = value.to_double();
  if (std::trunc(number) != number || std::fabs(number) > 2147483648.0) return std::nullopt;
  return static_cast<int64_t>(number);
}

}  // namespace server::query
