// This file has $where.
#include "server/core/operation.h"
#include "server/query/match/parser.h"
#include "server/query/match/stored_functions.h"
#include "server/script/engine.h"

namespace server::query::match {

namespace {

// Matches documents for which a client's function returns something true. The document is `this` and `obj`.
class Where : public Node {
 public:
  // `stored` may be nullptr.
  Where(std::string source, const bson::ValueView& specification, Allowance* allowance,
        const std::shared_ptr<const StoredFunctions>& stored)
      : Node(Kind::expr), function_(std::move(source), allowance, preparation(stored)), specification_(specification) {}

  bool matches(bson::DocumentView document, Details*) const override { return function_.holds(document); }
  bool matches_value(const bson::ValueView&) const override { return false; }
  void append(bson::Builder& out) const override { append_operator(out); }
  void append_operator(bson::Builder& out) const override { out.append("$where", specification_.view()); }

 private:
  static script::LazyFunction::Prepare preparation(const std::shared_ptr<const StoredFunctions>& stored) {
    if (!stored) return {};
    return [stored](script::Engine& engine) { stored->define(engine); };
  }

  const script::LazyFunction function_;
  const bson::Value specification_;
};

NodePtr parse_where(const bson::Element& operand, Parsing& parsing) {
  if (!parsing.context.scripts) bad_value("$where is not allowed in this context");
  check_top_level("$where", parsing);
  if (operand.type() == bson::Type::code_with_scope)
    throw base::OperationError(4649201, "$where no longer supports deprecated BSON type CodeWScope");
  auto source = script::source_of(operand);
  if (!source) bad_value("$where got bad type");
  if (!script::is_enabled()) bad_value("no globalScriptEngine in $where parsing");
  const ParseContext& context = parsing.context;
  std::shared_ptr<const StoredFunctions> stored;
  if (context.op)
    stored = StoredFunctions::read(*context.op, (context.allowance ? *context.allowance : context.op->allowance()).memory());
  return std::make_unique<Where>(*std::move(source), operand, context.allowance, stored);
}

constexpr TopOperatorRow top_operators[] = {{"$where", parse_where}};

}  // namespace

Family script_family() {
  return {{}, top_operators};
}

}  // namespace server::query::match
