// This file has $function.
#include "server/query/expressions/operator_support.h"
#include "server/script/engine.h"

namespace server::query {
namespace {

class Function final : public Expression {
 public:
  Function(std::string source, ExpressionPtr arguments, Allowance* allowance)
      : function_(std::move(source), allowance), arguments_(std::move(arguments)) {}

  Value compute(Frame& frame) const override {
    frame.work();
    Value scratch;
    const ValueView given = arguments_->view(frame, scratch);
    if (!given.is_array()) fail(31266, "The args field must be of type array");
    std::vector<ValueView> values;
    for (const bson::Element& argument : given.as_document()) values.push_back(argument);
    return function_.call(values);
  }

 private:
  const script::LazyFunction function_;
  const ExpressionPtr arguments_;
};

ExpressionPtr parse_function(std::string_view name, const ValueView& value, Scope& scope) {
  if (!value.is_object()) fail(31260, std::string(name) + " requires an object as an argument, found: " + named(value));
  const bson::DocumentView fields = value.as_document();
  const auto body = fields["body"], arguments = fields["args"], language = fields["lang"];
  if (!body.exists()) fail(31261, "The body function must be specified.");
  const ExpressionPtr code = parse_expression(body, scope);
  const Value* constant = code->constant();
  if (!constant) fail(31432, "The body function must be a constant expression");
  auto source = script::source_of(*constant);
  if (!source) fail(31262, "The body function must evaluate to type string or code");
  if (!arguments.exists()) fail(31263, "The args field must be specified.");
  ExpressionPtr given = parse_expression(arguments, scope);
  if (!language.exists()) fail(31418, "The lang field must be specified.");
  if (!language.is_string() || language.as_string() != "js")
    fail(31419, "Currently the only supported language specifier is 'js'.");
  return std::make_unique<Function>(*std::move(source), std::move(given), scope.allowance());
}

constexpr OperatorEntry operators[] = {{"$function", parse_function}};

}  // namespace

std::span<const OperatorEntry> script_operators() {
  return operators;
}

}  // namespace server::query
