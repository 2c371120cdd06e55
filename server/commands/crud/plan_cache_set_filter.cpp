// planCacheSetFilter says which indexes queries of one shape may use.
#include "base/error.h"
#include "server/commands/crud/plan_cache_request.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/plan_cache.h"

namespace server {
namespace {

[[noreturn]] void bad(const char* message) {
  throw base::OperationError(base::ErrorCode::bad_value, message);
}

void read_indexes(const bson::Element& indexes, query::IndexFilter& filter) {
  if (!indexes.exists()) bad("required field indexes missing");
  if (!indexes.is_array()) bad("required field indexes must be an array");
  if (indexes.as_document().empty()) bad("required field indexes must contain at least one index");
  for (const bson::Element& index : indexes.as_document()) {
    if (index.is_string()) {
      filter.names.emplace_back(index.as_string());
    } else if (index.is_object()) {
      if (index.as_document().empty()) bad("index specification cannot be empty");
      filter.keys.emplace_back(index.as_document());
    } else {
      bad("each item in indexes must be an object or string");
    }
  }
}

class PlanCacheSetFilter : public Command {
 public:
  std::string_view name() const override { return "planCacheSetFilter"; }
  std::string_view help() const override { return "Sets index filter for a query shape. Overrides existing filter."; }
  bool takes_collection() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    const uint32_t collection = requested_collection(op, request);
    if (collection == 0) bad("no such collection");
    query::IndexFilter filter;
    read_indexes(request.body.find("indexes"), filter);
    PlanCacheQuery query = required_query(op, request);
    filter.filter = std::move(query.filter);
    filter.sort = std::move(query.sort);
    filter.projection = std::move(query.projection);
    filter.collator = std::move(query.collator);
    op.services().index_filters.set(collection, query.shape, std::move(filter));
    op.services().plan_cache.clear({collection, std::move(query.shape)});
  }
};

}  // namespace

std::unique_ptr<Command> make_plan_cache_set_filter_command() {
  return std::make_unique<PlanCacheSetFilter>();
}

}  // namespace server
