#include "server/query/parse_context.h"

#include "server/core/operation.h"

namespace server::query {

ParseContext parse_context(const OperationContext& op, bson::DocumentView let, bson::CollatorPtr collator) {
  return {
      .expressions = expression_compiler(), .let = let, .op = &op, .collator = std::move(collator), .allowance = &op.allowance()};
}

ParseContext filter_context(const OperationContext& op, bson::DocumentView let, bson::CollatorPtr collator) {
  ParseContext context = parse_context(op, let, std::move(collator));
  context.scripts = true;
  context.text = true;
  return context;
}

}  // namespace server::query
