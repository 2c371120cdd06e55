// drop removes a collection with its indexes.
#include <algorithm>

#include "base/error.h"
#include "server/commands/shared/collection_options.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/dispatch/profiler.h"
#include "server/query/views.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "server/write/views.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

class Drop : public Command {
 public:
  std::string_view name() const override { return "drop"; }
  std::string_view help() const override { return "drop a collection\n{drop : <collectionName>}"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"collectionUUID"};
    return names;
  }
  bool writes() const override { return true; }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ns = request.ns();
    write::check_droppable(ns);
    if (write::collection_of(ns) == "system.profile" && op.services().profiler.settings(request.db).level > 0) {
      throw base::OperationError(base::ErrorCode::illegal_operation,
                                 "turn off profiling before dropping system.profile collection");
    }
    check_collection_uuid(op, request.body.find("collectionUUID"), ns);
    storage::Catalog& catalog = write::store_of(op).catalog();
    const std::string stored = query::find_series(op, ns) ? query::buckets_of(ns) : ns;
    const auto collection = catalog.find(stored);
    const auto indexes = collection ? static_cast<int32_t>(collection->indexes().size()) : 0;
    // Dropping a collection that doesn't exist succeeds, with a shorter reply.
    if (!catalog.drop(stored, {.interrupted = op.interrupted()})) {
      if (write::drop_view(op, ns)) reply.append("ns", ns);
      return;
    }
    const bool hides_id = stored != ns;
    reply.append("nIndexesWas", hides_id ? std::max(0, indexes - 1) : indexes).append("ns", ns);
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_command() {
  return std::make_unique<Drop>();
}

}  // namespace server
