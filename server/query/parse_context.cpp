#include "server/query/parse_context.h"

#include "server/core/operation.h"

namespace server::query {

ParseContext parse_context(const OperationContext& op, bson::DocumentView let) {
  return {.expressions = expression_compiler(), .let = let, .op = &op, .allowance = &op.allowance()};
}

}  // namespace server::query
