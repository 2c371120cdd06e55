// listIndexes returns the indexes of a collection, through a cursor.
#include "base/error.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/query/series/bucket_index.h"
#include "server/query/views.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/store.h"

namespace server {
namespace {

class ListIndexes : public Command {
 public:
  std::string_view name() const override { return "listIndexes"; }
  std::string_view help() const override { return "list indexes for a collection"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor", "includeBuildUUIDs", "includeIndexBuildInfo", "isTimeseriesNamespace"};
    return names;
  }
  bool takes_collection() const override { return true; }
  bool stable_api() const override { return true; }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ns = request.ns();
    const auto series = query::find_series(op, ns);
    const auto collection = write::store_of(op).catalog().find(series ? query::buckets_of(ns) : ns);
    if (!collection) query::require_no_view(op, ns);
    if (!collection) throw base::OperationError(base::ErrorCode::namespace_not_found, "ns does not exist: " + ns);
    auto documents = std::make_unique<ListSource>(op);
    const bool hides_id = query::is_buckets(collection->ns());  // it is clustered, in a way that isn't shown
    for (const auto& index : collection->indexes()) {
      op.check_interrupt();
      if (hides_id && index->is_id()) continue;
      bson::Document shown = storage::shown_index(*collection, *index);
      auto of_series = series ? query::series_index(*series, shown) : std::nullopt;
      if (of_series) shown = std::move(*of_series);
      if (of_series || !series) documents->add(std::move(shown));
    }
    reply_source(op, request, ns, std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_indexes_command() {
  return std::make_unique<ListIndexes>();
}

}  // namespace server
