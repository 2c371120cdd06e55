// planCacheClear and the commands of index filters take a collection, and the shape of a query on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bson/collator.h"
#include "server/core/command.h"

namespace server {

struct PlanCacheQuery {
  bson::Document filter, sort, projection;
  bson::CollatorPtr collator;
  std::string shape;  // the form in which index filters know it
};

// Reads the request's query. Throws BadValue for an argument that is missing or of another type, and the matcher's errors.
PlanCacheQuery required_query(const OperationContext& op, const Request& request);
// Does the same if there is a query. Throws BadValue for a sort or projection without a query.
std::optional<PlanCacheQuery> optional_query(const OperationContext& op, const Request& request);

// Returns 0 if there is no such collection.
uint32_t requested_collection(OperationContext& op, const Request& request);

}  // namespace server
