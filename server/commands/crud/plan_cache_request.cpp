#include "server/commands/crud/plan_cache_request.h"

#include "base/error.h"
#include "bson/collation.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/matcher.h"
#include "server/query/query_shape.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

[[noreturn]] void bad(const std::string& message) {
  throw OperationError(ErrorCode::bad_value, message);
}

bson::Document optional_object(const Request& request, const char* name) {
  const auto value = request.body.find(name);
  if (!value.exists()) return {};
  if (!value.is_object() && !value.is_array()) bad(std::string("optional field ") + name + " must be an object");
  return bson::Document(value.as_document());
}

}  // namespace

PlanCacheQuery required_query(const OperationContext& op, const Request& request) {
  const auto filter = request.body.find("query");
  if (!filter.exists()) bad("required field query missing");
  if (!filter.is_object() && !filter.is_array()) bad("required field query must be an object");
  PlanCacheQuery query;
  query.filter = bson::Document(filter.as_document());
  query.sort = optional_object(request, "sort");
  query.projection = optional_object(request, "projection");
  if (auto given = bson::parse_collation(request.body.find("collation"))) {
    query.collator = *std::move(given);
  } else if (op.services().store) {
    const auto collection = op.services().store->catalog().find(request.ns());
    if (collection) query.collator = collection->options().collator;
  }
  query::Matcher::parse(query.filter, query::filter_context(op, {}, query.collator));
  query.shape = query::query_shape(query.filter, query.sort, query.projection, query.collator.get());
  return query;
}

std::optional<PlanCacheQuery> optional_query(const OperationContext& op, const Request& request) {
  if (request.body.has("query")) return required_query(op, request);
  if (request.body.has("sort") || request.body.has("projection") || request.body.has("collation")) {
    bad("sort, projection, or collation provided without query");
  }
  return std::nullopt;
}

uint32_t requested_collection(OperationContext& op, const Request& request) {
  const auto collection = write::store_of(op).catalog().find(request.ns());
  return collection ? collection->id() : 0;
}

}  // namespace server
