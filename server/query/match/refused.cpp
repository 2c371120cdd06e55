// MongoDB has these operators and this server refuses them, each with a reason.
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

using base::ErrorCode;
using base::OperationError;

NodePtr refuse_text(const bson::Element&, Parsing&) {
  throw OperationError(ErrorCode::index_not_found, "text index required for $text query");
}

constexpr TopOperatorRow top_operators[] = {{"$text", refuse_text}};

}  // namespace

Family refused_family() {
  return {{}, top_operators};
}

}  // namespace server::query::match
