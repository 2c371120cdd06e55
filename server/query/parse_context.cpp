#include "server/query/parse_context.h"

#include "server/core/operation.h"

namespace server::query {

ParseContext parse_context(const OperationContext& op, bson::DocumentView let) {
  return {.expressions = expression_compiler(), .let = let, .op = &op, .allowance = &op.allowance()};
}

ParseContext filter_context(const OperationContext& op, bson::DocumentView let) {
  ParseContext context = parse_context(op, let);
  context.scripts = true;
  return context;
}

}  // namespace server::query
