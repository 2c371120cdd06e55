// listIndexes returns the indexes of a collection, through a cursor.
#include "base/error.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/command.h"
#include "server/core/operation.h"
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
    const auto collection = write::store_of(op).catalog().find(ns);
    if (!collection) query::require_no_view(op, ns);
    if (!collection) throw base::OperationError(base::ErrorCode::namespace_not_found, "ns does not exist: " + ns);
    std::vector<bson::Document> documents;
    for (const auto& index : collection->indexes()) documents.push_back(storage::shown_index(*collection, *index));
    reply_list(op, request, ns, std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_indexes_command() {
  return std::make_unique<ListIndexes>();
}

}  // namespace server
