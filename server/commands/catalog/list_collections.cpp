// listCollections returns the collections of a database, through a cursor.
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/query/matcher.h"
#include "server/query/views.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/collections/clustered.h"
#include "storage/store.h"

namespace server {
namespace {

bson::Document describe(const storage::Collection& collection, std::string_view name, bool name_only) {
  bson::Builder out;
  out.append("name", name).append("type", "collection");
  if (!name_only) {
    out.append("options", collection.options().document);
    {
      auto info = out.object("info");
      info.append("readOnly", false).append("uuid", bson::Binary{4, collection.uuid_bytes()});
    }
    if (const auto id_index = collection.index("_id_"); id_index && !storage::is_clustered(collection))
      out.append("idIndex", id_index->spec().document);
  }
  return out.done();
}

// Describes the time series whose buckets the collection has.
bson::Document describe_series(const storage::Collection& buckets, std::string_view name, bool name_only) {
  bson::Builder out;
  out.append("name", name).append("type", "timeseries");
  if (name_only) return out.done();
  {
    auto options = out.object("options");
    for (const auto& field : buckets.options().document) {
      if (field.name != "validator" && field.name != storage::clustered_index_option) options.append_element(field);
    }
  }
  out.object("info").append("readOnly", false);
  return out.done();
}

bson::Document describe(const query::View& view, bool name_only) {
  bson::Builder out;
  out.append("name", view.name).append("type", "view");
  if (name_only) return out.done();
  {
    auto options = out.object("options");
    options.append("viewOn", view.on).append_array("pipeline", view.pipeline);
    if (!view.collation.empty()) options.append("collation", view.collation);
  }
  {
    auto info = out.object("info");
    info.append("readOnly", true);
  }
  return out.done();
}

class ListCollections : public Command {
 public:
  std::string_view name() const override { return "listCollections"; }
  std::string_view help() const override { return "list collections for this db"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor", "filter", "nameOnly", "authorizedCollections", "includePendingDrops"};
    return names;
  }
  bool stable_api() const override { return true; }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool name_only = arguments.loose_boolean("nameOnly").value_or(false);
    const bool usable = arguments.loose_boolean("authorizedCollections").value_or(false) && op.services().options.authorization;
    const access::AuthorityPtr authority = op.client().authority();
    const auto hidden = [&](std::string_view name) {
      return usable && !(authority && authority->privileges.use(request.db, name));
    };
    const auto filter = arguments.object("filter").value_or(bson::DocumentView());
    const auto matcher = query::Matcher::parse(filter, query::parse_context(op));
    auto documents = std::make_unique<ListSource>(op);
    for (const auto& collection : write::store_of(op).catalog().found(request.db)) {
      op.check_interrupt();
      const std::string ns = collection->ns();
      if (collection->dropped() || !ns.starts_with(request.db + ".")) continue;
      const std::string_view name = std::string_view(ns).substr(request.db.size() + 1);
      const bool buckets = query::is_buckets(ns) && query::read_series_options(collection->options().document);
      if (buckets && !hidden(query::series_name(ns))) {
        bson::Document series = describe_series(*collection, query::series_name(ns), false);
        if (matcher->matches(series))
          documents->add(name_only ? describe_series(*collection, query::series_name(ns), true) : std::move(series));
      }
      if (hidden(name)) continue;
      bson::Document whole = describe(*collection, name, false);
      if (!matcher->matches(whole)) continue;
      documents->add(name_only ? describe(*collection, name, true) : std::move(whole));
    }
    Held held(op.allowance().memory());
    for (const auto& view : query::all_views(op, request.db, held)) {
      op.check_interrupt();
      if (hidden(view.name) || !query::find_view(op, request.db + "." + view.name)) continue;  // a collection hides it
      bson::Document whole = describe(view, false);
      if (matcher->matches(whole)) documents->add(name_only ? describe(view, true) : std::move(whole));
    }
    reply_source(op, request, request.db + ".$cmd.listCollections", std::move(documents), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_list_collections_command() {
  return std::make_unique<ListCollections>();
}

}  // namespace server
