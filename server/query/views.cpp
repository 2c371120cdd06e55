#include "server/query/views.h"

#include <algorithm>

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/read_moment.h"
#include "server/core/services.h"
#include "server/query/reader.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "versions/database/refs.h"

namespace server::query {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr int invalid_view_definition = 182;

// Opens a collection as the operation sees it. That isn't a use of the collection, so it isn't counted.
std::shared_ptr<storage::Collection> open_quietly(OperationContext& op, const std::string& ns) {
  return open_present(op, op.moment ? name_at(op, ns) : ns);
}

// In a database with branches the catalog also finds collections that only other branches have.
bool is_collection(OperationContext& op, const std::string& ns) {
  try {
    const auto found = open_quietly(op, ns);
    if (!found) return false;
    if (op.transaction || (!found->moves() && !found->home())) return true;
    return op.services().store->catalog().find(op.moment ? name_at(op, ns) : ns) != nullptr;
  } catch (const OperationError& error) {
    // A branch that is gone has no views. Snapshots may show its collections still; if they don't, the read fails where it reads.
    if (error.code() != ErrorCode::namespace_not_found) throw;
    return true;
  }
}

// Returns the time series of that name as a view of its buckets.
std::optional<View> series_view(OperationContext& op, const std::string& ns) {
  const std::string buckets = buckets_of(ns);
  if (is_buckets(ns) || !is_collection(op, buckets)) return std::nullopt;
  const auto collection = open_quietly(op, buckets);
  if (!collection) return std::nullopt;
  const bson::DocumentView options = collection->options().document;
  auto series = read_series_options(options);
  if (!series) return std::nullopt;
  bson::ArrayBuilder pipeline;
  pipeline.append(unpacking_stage(*series));
  View view;
  view.name = storage::collection_of(ns);
  view.on = storage::collection_of(buckets);
  view.pipeline = bson::Document(pipeline.done_value().view().as_document());
  if (const bson::Element collation = options["collation"]; collation.is_object())
    view.collation = bson::Document(collation.as_document());
  view.series = std::move(series);
  return view;
}

template <class Visit>
void each_view(OperationContext& op, std::string_view db, bson::Document filter, const Visit& visit) {
  if (!op.services().store) return;
  Query query;
  query.ns = std::string(db) + "." + std::string(views_collection);
  query.filter = std::move(filter);
  auto definitions = open_quietly(op, query.ns);
  if (!definitions) return;
  Reader reader(op, std::move(definitions), query.ns, query);
  while (reader.next()) visit(parse_view(reader.document()));
}

}  // namespace

std::string view_id(std::string_view ns) {
  return std::string(versions::split_name(storage::database_of(ns)).database) + "." + std::string(storage::collection_of(ns));
}

View parse_view(bson::DocumentView document) {
  const bson::Element id = document["_id"], on = document["viewOn"], pipeline = document["pipeline"];
  bool valid = id.is_string() && id.as_string().find('.') != std::string_view::npos && on.is_string() &&
               !on.as_string().empty() && pipeline.is_array();
  for (bson::DocumentView stages = valid ? pipeline.as_document() : bson::DocumentView(); const auto& stage : stages)
    valid = valid && stage.is_object();
  if (!valid)
    throw OperationError(invalid_view_definition, "Invalid view definition in system.views: the document isn't a view's");
  View view{std::string(storage::collection_of(id.as_string())),
            std::string(on.as_string()),
            bson::Document(pipeline.as_document()),
            {},
            std::nullopt};
  if (const bson::Element collation = document["collation"]; collation.is_object())
    view.collation = bson::Document(collation.as_document());
  return view;
}

std::optional<View> find_view(OperationContext& op, const std::string& ns) {
  if (!op.services().store || is_collection(op, ns)) return std::nullopt;
  if (auto series = series_view(op, ns)) return series;
  bson::Builder filter;
  filter.append("_id", view_id(ns));
  std::optional<View> found;
  each_view(op, storage::database_of(ns), filter.done(), [&](View view) { found = std::move(view); });
  return found;
}

std::optional<SeriesOptions> find_series(OperationContext& op, const std::string& ns) {
  auto view = find_view(op, ns);
  return view ? std::move(view->series) : std::nullopt;
}

std::optional<SeriesOptions> series_of_buckets(OperationContext& op, const std::string& buckets_ns) {
  if (!is_buckets(buckets_ns) || !op.services().store) return std::nullopt;
  const auto collection = open_quietly(op, buckets_ns);
  return collection ? read_series_options(collection->options().document) : std::nullopt;
}

std::vector<View> all_views(OperationContext& op, const std::string& db, Held& held) {
  std::vector<View> views;
  each_view(op, db, {}, [&](View view) {
    held.add(sizeof(view) + view.name.size() + view.on.size() + view.pipeline.size() + view.collation.size());
    views.push_back(std::move(view));
  });
  std::sort(views.begin(), views.end(), [](const View& a, const View& b) { return a.name < b.name; });
  return views;
}

std::optional<View> resolve_view(OperationContext& op, const std::string& db, const std::string& name) {
  std::optional<View> resolved;
  std::string at = name;
  for (int depth = 0;; ++depth) {
    auto view = find_view(op, db + "." + at);
    if (!view) return resolved;
    if (depth == view_depth_max) {
      throw OperationError(ErrorCode::view_depth_limit_exceeded,
                           "View depth limit exceeded; maximum depth is " + std::to_string(view_depth_max));
    }
    if (resolved) {
      bson::ArrayBuilder stages;
      for (const auto& stage : view->pipeline) stages.append(static_cast<const bson::ValueView&>(stage));
      for (const auto& stage : resolved->pipeline) stages.append(static_cast<const bson::ValueView&>(stage));
      view->pipeline = bson::Document(stages.done_value().view().as_document());
      view->name = resolved->name;
    }
    resolved = std::move(view);
    at = resolved->on;
  }
}

bson::CollatorPtr view_collator(const View& view, const bson::GivenCollation& given) {
  bson::CollatorPtr own = view.collation.empty() ? nullptr : bson::collator_of(view.collation);
  if (given && view.series) return *given;
  if (given && !bson::same_collation(given->get(), own.get()))
    throw OperationError(ErrorCode::option_not_supported_on_view, "Cannot override a view's default collation");
  return own;
}

void require_no_view(OperationContext& op, const std::string& ns) {
  if (find_view(op, ns))
    throw OperationError(ErrorCode::command_not_supported_on_view, "Namespace " + ns + " is a view, not a collection");
}

}  // namespace server::query
