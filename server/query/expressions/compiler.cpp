// Filters and projections compute expressions through this plug.
#include "server/core/operation.h"
#include "server/query/expressions/expression.h"
#include "server/query/expressions/now.h"
#include "server/query/expressions/system_variables.h"
#include "server/query/parse_context.h"

namespace server::query {
namespace {

class Ready final : public CompiledExpression {
 public:
  Ready(ExpressionPtr expression, const Scope& scope, std::unique_ptr<Held> held)
      : held_(std::move(held)), collator_(scope.collator()), expression_(std::move(expression)), frame_(scope) {}
  bson::Value evaluate(bson::DocumentView root) const override {
    frame_.begin(root);
    return expression_->evaluate(frame_);
  }

 private:
  std::unique_ptr<Held> held_;  // what parsing made; nullptr: it isn't counted
  bson::CollatorPtr collator_;  // the frame borrows it
  ExpressionPtr expression_;
  mutable Frame frame_;  // one operation at a time uses it
};

class Compiler final : public ExpressionCompiler {
 public:
  std::unique_ptr<CompiledExpression> compile(const bson::ValueView& specification, const ParseContext& context) const override {
    Scope scope(context.op ? command_time_ms(*context.op) : 0, context.allowance);
    scope.set_collator(context.collator);
    scope.set_metadata(context.metadata);
    if (context.op && !context.let.has("USER_ROLES")) define(scope, system_variables(*context.op));
    define(scope, context.let);
    std::unique_ptr<Held> held;
    if (context.allowance) {
      held = std::make_unique<Held>(context.allowance->memory());
      held->set(parsed_bytes(specification.bytes().size()));
    }
    ExpressionPtr expression = parse_expression(specification, scope);
    if (held) held->add(scope.kept());
    return std::make_unique<Ready>(std::move(expression), scope, std::move(held));
  }

 private:
  static void define(Scope& scope, bson::DocumentView variables) {
    for (const bson::Element& variable : variables) scope.define(std::string(variable.name), bson::Value(variable));
  }
};

}  // namespace

const ExpressionCompiler* expression_compiler() {
  static const Compiler compiler;
  return &compiler;
}

}  // namespace server::query
