// A view is a name for a pipeline over a collection, or over another view.
//
// A database keeps its views as documents of its collection system.views, so they are versioned with its branches, shown as they
// were by snapshots, and replicated like any document:
//
//   {_id: "shop.recent", viewOn: "orders", pipeline: [{$match: {day: {$gt: 19000}}}]}
//
// `_id` has the database's own name on every branch. A collection of the same name hides the view.
//
// A time series is a view, too. It isn't in system.views: it is there as long as its collection of buckets is
// (series/series_options.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bson/collation.h"
#include "bson/document.h"
#include "server/query/series/series_options.h"

namespace server {
class Held;
class OperationContext;
}  // namespace server

namespace server::query {

inline constexpr std::string_view views_collection = "system.views";
inline constexpr int view_depth_max = 20;  // how many views may stand on one another

struct View {
  std::string name;  // without the database
  std::string on;
  bson::Document pipeline;              // an array's elements
  bson::Document collation;             // empty: none was given
  std::optional<SeriesOptions> series;  // of a time series; after resolve_view: of the one at the bottom
};

// Returns the _id that the view has in system.views.
std::string view_id(std::string_view ns);
// Throws InvalidViewDefinition (182).
View parse_view(bson::DocumentView document);

// These calls read as the operation does: at its moment, and in its transaction.
// Returns nullopt if the name is a collection's, or nobody's.
std::optional<View> find_view(OperationContext& op, const std::string& ns);
// Returns the options of a time series; nullopt: the name is no time series'.
std::optional<SeriesOptions> find_series(OperationContext& op, const std::string& ns);
// Returns the options of the time series whose buckets the collection has; nullopt: it has none.
std::optional<SeriesOptions> series_of_buckets(OperationContext& op, const std::string& buckets_ns);
// Returns the database's views without its time series, by name; `held` gets their bytes.
std::vector<View> all_views(OperationContext& op, const std::string& db, Held& held);
// Follows views down to a collection; nullopt: the name is no view's. Throws ViewDepthLimitExceeded.
std::optional<View> resolve_view(OperationContext& op, const std::string& db, const std::string& name);
// Returns the collation of reads of a view, which is the view's own: nullptr: bytes are compared. Throws OptionNotSupportedOnView
// (167) if another one was given. Reads of a time series may have another one, as those of a collection.
bson::CollatorPtr view_collator(const View& view, const bson::GivenCollation& given);
// Throws CommandNotSupportedOnView (166) if the name is a view's.
void require_no_view(OperationContext& op, const std::string& ns);

}  // namespace server::query
