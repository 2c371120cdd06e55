// What parsing a filter, a projection or a sort needs to know of its operation.
//
// Expressions ($expr, computed projections) are compiled by the aggregation
// language through the plug below; without one they are refused.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "bson/document.h"
#include "bson/value.h"

namespace server {
class OperationContext;
}

namespace server::query {

struct ParseContext;

// An aggregation expression ready to be computed. Used by one operation at a time.
class CompiledExpression {
 public:
  virtual ~CompiledExpression() = default;
  // A missing value where the expression has none. Throws OperationError.
  virtual bson::Value evaluate(bson::DocumentView root) const = 0;
};

// Thread-safe.
class ExpressionCompiler {
 public:
  virtual ~ExpressionCompiler() = default;
  // `specification` may be any value: an operator object, "$path", a literal.
  virtual std::unique_ptr<CompiledExpression> compile(const bson::ValueView& specification,
                                                      const ParseContext& context) const = 0;
};

struct ParseContext {
  const ExpressionCompiler* expressions = nullptr;
  bson::DocumentView let;                // user variables, already constant; borrowed
  const OperationContext* op = nullptr;  // whom $$NOW and interrupts belong to
};

// The context of an operation: expressions plugged in, `let` borrowed.
ParseContext parse_context(const OperationContext& op, bson::DocumentView let = {});

// The compiler this server was built with; nullptr: none.
const ExpressionCompiler* expression_compiler();

}  // namespace server::query
