// MongoDB has these operators and this server refuses them, each with a reason.
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

using base::ErrorCode;
using base::OperationError;

NodePtr refuse_near(std::string_view, const bson::Element&, bson::DocumentView, Parsing&) {
  throw OperationError(ErrorCode::no_query_execution_plans,
                       "error processing query: planner returned error :: caused by :: unable to find index for $geoNear query");
}

NodePtr refuse_geo(std::string_view, const bson::Element& operand, bson::DocumentView, Parsing&) {
  throw OperationError(ErrorCode::not_implemented, std::string(operand.name) + " is not supported");
}

constexpr PathOperatorRow path_operators[] = {
    {"$near", refuse_near},     {"$nearSphere", refuse_near}, {"$geoNear", refuse_near},
    {"$geoWithin", refuse_geo}, {"$within", refuse_geo},      {"$geoIntersects", refuse_geo},
};

}  // namespace

Family refused_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
