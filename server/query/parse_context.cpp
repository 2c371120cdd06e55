#include "server/query/parse_context.h"

namespace server::query {

ParseContext parse_context(const OperationContext& op, bson::DocumentView let) {
  return {.expressions = expression_compiler(), .let = let, .op = &op};
}

}  // namespace server::query
