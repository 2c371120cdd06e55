#include "server/query/plan/locations.h"

#include <algorithm>

#include "base/error.h"
#include "geo/index_options.h"

namespace server::query::plan {

namespace {

using match::Kind;
using match::Node;

bool helps(const match::GeoNode& node, const geo::IndexOptions& options) {
  if (options.sphere) return node.geometry().spherical() && node.geometry().plane() == geo::Plane::sphere;
  return node.within() && node.geometry().box().has_value();
}

// Returns whether the predicate is on locations at the path; with options, on such as an index with these helps to find.
bool has_location(const Node& node, std::string_view path, const geo::IndexOptions* options) {
  const auto one = [&](const match::NodePtr& child) { return has_location(*child, path, options); };
  if (node.kind() == Kind::conjunction || node.kind() == Kind::disjunction) {
    const auto& children = static_cast<const match::TreeNode&>(node).children();
    return node.kind() == Kind::conjunction ? std::any_of(children.begin(), children.end(), one)
                                            : !children.empty() && std::all_of(children.begin(), children.end(), one);
  }
  if (node.kind() != Kind::geo) return false;
  const auto& geo = static_cast<const match::GeoNode&>(node);
  return geo.path() == path && (!options || helps(geo, *options));
}

bool any_location(const storage::Index& index, const Predicates& predicates, const geo::IndexOptions* options) {
  const auto& fields = index.spec().fields;
  return std::any_of(fields.begin(), fields.end(), [&](const storage::IndexField& field) {
    return field.located() && std::any_of(predicates.begin(), predicates.end(),
                                          [&](const Node* node) { return has_location(*node, field.path, options); });
  });
}

// A "2d" index answers on the sphere, too, but not for GeoJSON points, whose circles wrap around the plane's edges.
bool fits(const match::Near& near, const geo::IndexOptions& options) {
  return options.sphere ? near.plane == geo::Plane::sphere : !near.geo_json;
}

}  // namespace

Intervals intervals_of(const geo::CellRanges& ranges) {
  Intervals intervals;
  for (const geo::CellRange& range : ranges) intervals.push_back({range.low, range.high, true, true});
  return normalize(std::move(intervals));
}

std::optional<Bounds> location_bounds(const match::PathNode& node, const KeyForm& keys) {
  if (!keys.geo || node.kind() != Kind::geo) return std::nullopt;
  const auto& geo = static_cast<const match::GeoNode&>(node);
  if (!helps(geo, *keys.geo)) return std::nullopt;
  const auto ranges =
      keys.geo->sphere ? geo::sphere_ranges(geo.geometry(), *keys.geo) : geo::flat_ranges(*geo.geometry().box(), *keys.geo);
  return Bounds{intervals_of(ranges), false};
}

bool has_location_predicate(const storage::Index& index, const Predicates& predicates) {
  return any_location(index, predicates, index.spec().geo.get());
}

bool asks_for_locations(const storage::Index& index, const Predicates& predicates) {
  const storage::IndexSpec& spec = index.spec();
  if (spec.geo->sphere && spec.geo->version == 1 && !spec.sparse) return true;
  return any_location(index, predicates, nullptr);
}

Access near_access(const std::vector<std::shared_ptr<const storage::Index>>& indexes, const storage::Collection& collection,
                   const match::NearNode& near, const Predicates& predicates, Allowance& allowance) {
  std::optional<Access> best;
  for (const auto& index : indexes) {
    const storage::IndexSpec& spec = index->spec();
    const auto field = std::find_if(spec.fields.begin(), spec.fields.end(),
                                    [&](const storage::IndexField& one) { return one.located() && one.path == near.path(); });
    if (field == spec.fields.end() || !fits(near.near(), *spec.geo) || !covers_partial(*index, predicates, allowance)) continue;
    Access access = index_access(index, predicates, allowance);
    access.near_field = static_cast<size_t>(field - spec.fields.begin());
    if (access.near_field > 0 && is_everything(access.fields.front())) continue;
    access.kind = Access::Kind::near;
    access.near = &near;
    access.one_record = false;
    // The distance is looked at with the document, and so are all other predicates.
    access.residual = predicates;
    std::erase(access.residual, &near);
    if (!best || access.bounded.size() > best->bounded.size()) best = std::move(access);
  }
  if (best) return *std::move(best);
  throw base::OperationError(base::ErrorCode::no_query_execution_plans,
                             "error processing query: ns=" + collection.ns() +
                                 ": planner returned error :: caused by :: unable to find index for $geoNear query");
}

}  // namespace server::query::plan
