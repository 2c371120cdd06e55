#include "server/query/parse_context.h"

namespace server::query {

// Nothing compiles expressions here: what needs one is refused.
const ExpressionCompiler* expression_compiler() { return nullptr; }

}  // namespace server::query
