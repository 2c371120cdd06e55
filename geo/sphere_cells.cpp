#include <s2/s2region_coverer.h>
#include <s2/s2shape_index_region.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "geo/cells.h"
#include "geo/geometry_parts.h"

namespace geo {
namespace {

constexpr int cells_of_key = 50;
constexpr int cells_of_query = 20;
constexpr int cannot_build_index_keys = 201;
constexpr size_t keys_max = 100'000;  // of a document in one index

S2CellUnion covering(const S2Region& region, int cells, int coarsest, int finest) {
  S2RegionCoverer::Options options;
  options.set_max_cells(cells);
  options.set_min_level(coarsest);
  options.set_max_level(finest);
  S2RegionCoverer coverer(options);
  std::vector<S2CellId> ids;
  coverer.GetCovering(region, &ids);
  return S2CellUnion::FromVerbatim(std::move(ids));
}

S2Cap cap_of(const Point& center, double radius) {
  return S2Cap(s2_point(center), S1Angle::Radians(radius + 1e-12));
}

int64_t signed_id(S2CellId id) {
  return static_cast<int64_t>(id.id());
}

// Ids compare as signed numbers in keys.
CellRanges ranges_of(const S2CellUnion& cells, const IndexOptions& options) {
  std::vector<std::pair<int64_t, int64_t>> found;
  std::set<int64_t> around;
  for (const S2CellId cell : cells) {
    found.emplace_back(signed_id(cell.range_min()), signed_id(cell.range_max()));
    for (int level = std::min(cell.level() - 1, options.finest_level); level >= options.coarsest_level; --level)
      around.insert(signed_id(cell.parent(level)));
  }
  for (const int64_t id : around) found.emplace_back(id, id);
  std::sort(found.begin(), found.end());
  std::vector<std::pair<int64_t, int64_t>> joined;
  for (const auto& one : found) {
    if (!joined.empty() && one.first <= joined.back().second) {
      joined.back().second = std::max(joined.back().second, one.second);
    } else {
      joined.push_back(one);
    }
  }
  CellRanges ranges;
  for (const auto& [low, high] : joined) ranges.push_back({bson::Value(low), bson::Value(high)});
  return ranges;
}

S2CellUnion cover(const Geometry& geometry, int cells, int coarsest, int finest) {
  const auto& parts = geometry.parts();
  if (parts.kind == Geometry::Parts::Kind::cap) return covering(cap_of(geometry.point(), parts.radius), cells, coarsest, finest);
  return covering(MakeS2ShapeIndexRegion(&parts.shapes), cells, coarsest, finest);
}

// Where cells must be small, any number of them may be needed. A level needs at most four times as many as the one before, so the
// number is known before there are too many, and most levels need no look.
bool needs_too_many_cells(const Geometry& geometry, const IndexOptions& options) {
  size_t at_most = S2CellId::kNumFaces;
  for (int level = 1; level <= options.coarsest_level && at_most <= keys_max; ++level) {
    at_most *= 4;
    if (at_most > keys_max) at_most = cover(geometry, cells_of_key, level, level).size();
  }
  return at_most > keys_max;
}

}  // namespace

std::vector<bson::Value> sphere_keys(const Geometry& geometry, const IndexOptions& options) {
  const auto bad = [](const std::string& message) { throw base::OperationError(base::ErrorCode::bad_value, message); };
  if (geometry.strict()) bad("can't index geometry with strict winding order");
  if (geometry.is_point()) {
    const Point point = geometry.point();
    if (!is_on_sphere(point)) {
      bad(out_of_bounds(point));
    }
    return {bson::Value(signed_id(S2CellId(s2_point(point))))};
  }
  if (needs_too_many_cells(geometry, options)) {
    throw base::OperationError(cannot_build_index_keys, "can't index geometry: it takes more than " + std::to_string(keys_max) +
                                                            " cells of the index's coarsest level");
  }
  std::vector<bson::Value> keys;
  for (const S2CellId cell : cover(geometry, cells_of_key, options.coarsest_level, options.finest_level))
    keys.emplace_back(signed_id(cell));
  return keys;
}

CellRanges sphere_ranges(const Geometry& geometry, const IndexOptions& options) {
  // A cell that is coarser than the index's has a range of ids, too.
  if (!geometry.is_point()) return ranges_of(cover(geometry, cells_of_query, 0, options.finest_level), options);
  return ranges_of(S2CellUnion::FromVerbatim({S2CellId(s2_point(geometry.point()))}), options);
}

CellRanges sphere_ranges(const Point& center, double radius, const IndexOptions& options) {
  return ranges_of(covering(cap_of(center, radius), cells_of_query, 0, options.finest_level), options);
}

}  // namespace geo
