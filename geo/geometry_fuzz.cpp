// Any document is taken as geometries, and as the options of geospatial indexes.
//
//   {geometry: <GeoJSON or a pair>, $box: …, $polygon: …, …, options: {<of the indexes>}}
//
// Each is refused as an operation is, or the geometry is found by the ranges that belong to it, and meets itself.
#include <algorithm>

#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "geo/cells.h"

namespace {

using namespace geo;
using base::check;

IndexOptions options_of(bson::DocumentView document, bool sphere) {
  const bson::Element given = document["options"];
  std::optional<IndexOptions> options;
  if (given.is_object()) base::refuses([&] { options.emplace(parse_index_options(given.as_document(), sphere)); });
  return options.value_or(IndexOptions{.sphere = sphere});
}

// Returns whether a range has a key: all are numbers, or 8 bytes.
bool in_ranges(const bson::Value& key, const CellRanges& ranges) {
  const auto number = [](const bson::Value& value) { return value.view().as_int64(); };
  const auto bytes = [](const bson::Value& value) { return value.view().as_binary().bytes; };
  return std::ranges::any_of(ranges, [&](const CellRange& range) {
    if (!key.view().is_number()) return bytes(range.low) <= bytes(key) && bytes(key) <= bytes(range.high);
    return number(range.low) <= number(key) && number(key) <= number(range.high);
  });
}

void check_keys(const Geometry& geometry, const IndexOptions& sphere, const IndexOptions& flat) {
  std::vector<bson::Value> keys;
  if (geometry.spherical() && !base::refuses([&] { keys = sphere_keys(geometry, sphere); })) {
    const CellRanges ranges = sphere_ranges(geometry, sphere);
    check(std::ranges::any_of(keys, [&](const bson::Value& key) { return in_ranges(key, ranges); }),
          "an index finds a geometry by itself");
  }
  bson::Value key;
  if (geometry.is_point() && !base::refuses([&] { key = flat_key(geometry.point(), flat); }))
    check(in_ranges(key, flat_ranges({geometry.point(), geometry.point()}, flat)), "an index finds a point by itself");
}

bool check_geometry(const bson::ValueView& value, const IndexOptions& sphere, const IndexOptions& flat) {
  const auto geometry = Geometry::try_parse(value);
  check(geometry.has_value() != base::refuses([&] { Geometry::parse(value); }), "both parse alike");
  Point point;
  bool geo_json = false;
  if (!base::refuses([&] { point = parse_point(value, geo_json); })) {
    check(geometry && geometry->is_point() && geometry->point().x == point.x && geometry->point().y == point.y,
          "a point is the geometry of that point");
    check(geo_json == (geometry->plane() == Plane::sphere));
  }
  if (!geometry) return false;
  check_keys(*geometry, sphere, flat);
  if (!geometry->strict()) check(geometry->intersects(*geometry), "a geometry meets itself");
  if (geometry->is_point()) check(geometry->distance(geometry->point(), Plane::flat) == 0);
  return true;
}

bool check_shape(const bson::Element& element, const IndexOptions& sphere, const IndexOptions& flat) {
  std::optional<Geometry> shape;
  if (base::refuses([&] { shape = Geometry::parse_shape(element); })) return false;
  if (const auto box = shape->box()) {
    check(box->low.x <= box->high.x && box->low.y <= box->high.y, "a box has its corners in order");
    flat_ranges(*box, flat);
  }
  if (shape->spherical()) sphere_ranges(*shape, sphere);
  return true;
}

bool run(base::BytesView input) {
  const auto valid = bson::validate(input);
  if (!valid.ok()) return false;
  const bson::DocumentView document = valid.value();
  const IndexOptions sphere = options_of(document, true), flat = options_of(document, false);
  bool accepted = check_geometry(document["geometry"], sphere, flat);
  for (const bson::Element& one : document) accepted = check_shape(one, sphere, flat) || accepted;
  return accepted;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> out;
  for (const char* text :
       {"{geometry: [13.4, 52.5], options: {bits: 32, min: -200, max: 200}}", "{geometry: {lng: 13.4, lat: 52.5}}",
        "{geometry: {type: 'Point', coordinates: [180, -90]}, options: {'2dsphereIndexVersion': 2, finestIndexedLevel: 30}}",
        "{geometry: {type: 'LineString', coordinates: [[0, 0], [0, 1], [10, 1]]}}",
        "{geometry: {type: 'Polygon', coordinates: [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]],"
        " [[1, 1], [1, 2], [2, 2], [1, 1]]]}, options: {coarsestIndexedLevel: 3, finestIndexedLevel: 8}}",
        "{geometry: {type: 'MultiPoint', coordinates: [[0, 0], [179, 80]]}}",
        "{geometry: {type: 'GeometryCollection', geometries: [{type: 'Point', coordinates: [1, 2]},"
        " {type: 'MultiLineString', coordinates: [[[0, 0], [1, 1]]]},"
        " {type: 'MultiPolygon', coordinates: [[[[0, 0], [1, 0], [1, 1], [0, 0]]]]}]}}",
        "{$geometry: {type: 'Polygon', coordinates: [[[0, 0], [0, 9], [9, 9], [0, 0]]], crs: {type: 'name',"
        " properties: {name: 'urn:x-mongodb:crs:strictwinding:EPSG:4326'}}}}",
        "{$box: [[5, 5], [0, 0]], $polygon: [[0, 0], [3, 6], [6, 0]], $center: [[0, 0], 5], $centerSphere: [[170, 80], 0.5]}"}) {
    out.push_back(bson::json(text).bytes());
  }
  return out;
}

const base::FuzzTarget target("geometry", run, seeds);

}  // namespace
