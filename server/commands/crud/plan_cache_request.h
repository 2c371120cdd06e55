// What planCacheClear and the commands of index filters have in common: a collection, and the shape of a query on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "server/core/command.h"

namespace server {

struct PlanCacheQuery {
  bson::Document filter, sort, projection;
  std::string shape;  // as index filters know it
};

// The request's query. Throws BadValue for what is missing or of another type, and what the matcher throws.
PlanCacheQuery required_query(const OperationContext& op, const Request& request);
// The same where there is one. Throws BadValue for a sort or projection without a query.
std::optional<PlanCacheQuery> optional_query(const OperationContext& op, const Request& request);

// 0: no such collection.
uint32_t requested_collection(OperationContext& op, const Request& request);

}  // namespace server
