#include "geo/geometry.h"

#include <catch2/catch.hpp>
#include <random>

#include "base/error.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "geo/cells.h"

using geo::Geometry;

namespace {

Geometry geometry(const std::string& json) {
  const bson::Document document = bson::json(json);
  return Geometry::parse(bson::ValueView(bson::Type::object, document.bytes()));
}

Geometry shape(const std::string& json) {
  const bson::Document document = bson::json(json);
  return Geometry::parse_shape(document.view().first());
}

Geometry point(double x, double y) {
  return geometry("{type: 'Point', coordinates: [" + std::to_string(x) + ", " + std::to_string(y) + "]}");
}

std::string refusal(const std::string& json) {
  try {
    geometry(json);
  } catch (const base::OperationError& error) {
    return error.what();
  }
  return "accepted";
}

bool found(const std::vector<bson::Value>& keys, const geo::CellRanges& ranges) {
  for (const bson::Value& key : keys) {
    for (const geo::CellRange& range : ranges) {
      if (bson::compare(key, range.low) >= 0 && bson::compare(key, range.high) <= 0) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("Geometry: bad GeoJSON is refused with its reason") {
  CHECK(refusal("{type: 'Point', coordinates: [200, 0]}").starts_with("Longitude/latitude is out of bounds, lng: 200"));
  CHECK(refusal("{type: 'Point', coordinates: 5}").starts_with("GeoJSON coordinates must be an array"));
  CHECK(refusal("{type: 'Circle', coordinates: []}").starts_with("unknown GeoJSON type"));
  CHECK(refusal("{type: 'LineString', coordinates: [[0, 0], [0, 0]]}").starts_with("GeoJSON LineString must have at least 2"));
  CHECK(refusal("{type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1]]]}").starts_with("Loop is not closed"));
  CHECK(refusal("{type: 'Polygon', coordinates: [[[0, 0], [1, 0], [0, 0]]]}").starts_with("Loop must have at least 3"));
  CHECK(refusal("{type: 'Polygon', coordinates: [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]}").starts_with("Loop is not valid"));
  CHECK(refusal("{type: 'Polygon', coordinates: [[[0, 0], [1, 0], [1, 1], [0, 0]], [[5, 5], [6, 5], [6, 6], [5, 5]]]}")
            .starts_with("Secondary loops not contained"));
  CHECK(refusal("{type: 'MultiPoint', coordinates: []}").starts_with("MultiPoint coordinates must have at least 1"));
  CHECK(refusal("{type: 'GeometryCollection', geometries: [{type: 'GeometryCollection', geometries: []}]}")
            .starts_with("GeometryCollections cannot be nested"));
}

TEST_CASE("Geometry: a polygon has its edge and lacks its hole") {
  const Geometry area = geometry(
      "{type: 'Polygon', coordinates: [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]], [[4, 4], [6, 4], [6, 6], [4, 6], [4, 4]]]}");
  CHECK(area.contains(point(1, 1)));
  CHECK(area.contains(point(0, 0)));
  CHECK_FALSE(area.contains(point(5, 5)));
  CHECK_FALSE(area.contains(point(11, 5)));
  CHECK(area.contains(geometry("{type: 'LineString', coordinates: [[1, 1], [2, 3]]}")));
  CHECK_FALSE(area.contains(geometry("{type: 'LineString', coordinates: [[1, 1], [20, 3]]}")));
  CHECK(area.intersects(geometry("{type: 'LineString', coordinates: [[1, 1], [20, 3]]}")));
  CHECK_FALSE(area.intersects(geometry("{type: 'LineString', coordinates: [[12, 1], [20, 3]]}")));
}

TEST_CASE("Geometry: strict winding makes a polygon larger than a hemisphere") {
  const std::string ring = "[[[-10, -10], [-10, 10], [10, 10], [10, -10], [-10, -10]]]";
  const Geometry small = shape("{$geometry: {type: 'Polygon', coordinates: " + ring + "}}");
  const Geometry large = shape("{$geometry: {type: 'Polygon', coordinates: " + ring +
                               ", crs: {type: 'name', properties: {name: 'urn:x-mongodb:crs:strictwinding:EPSG:4326'}}}}");
  CHECK(small.contains(point(0, 0)));
  CHECK_FALSE(small.contains(point(90, 0)));
  CHECK_FALSE(large.contains(point(0, 0)));
  CHECK(large.contains(point(90, 0)));
}

TEST_CASE("Geometry: shapes of a plane have their edges") {
  CHECK(shape("{$box: [[0, 0], [2, 2]]}").contains(geometry("{x: 2, y: 2}")));
  CHECK_FALSE(shape("{$box: [[0, 0], [2, 2]]}").contains(geometry("{x: 2.1, y: 2}")));
  CHECK(shape("{$center: [[0, 0], 5]}").contains(geometry("{x: 3, y: 4}")));
  CHECK_FALSE(shape("{$center: [[0, 0], 5]}").contains(geometry("{x: 3, y: 4.1}")));
  CHECK(shape("{$polygon: [[0, 0], [3, 6], [6, 0]]}").contains(geometry("{x: 3, y: 1}")));
  CHECK_FALSE(shape("{$polygon: [[0, 0], [3, 6], [6, 0]]}").contains(geometry("{x: 0, y: 5}")));
  CHECK(shape("{$centerSphere: [[0, 0], 0.1]}").contains(point(5, 0)));
  CHECK_FALSE(shape("{$centerSphere: [[0, 0], 0.1]}").contains(point(6, 0)));
}

TEST_CASE("Cells: an index of small cells takes small geometries alone, and is asked about large ones") {
  const geo::IndexOptions fine{.coarsest_level = 30, .finest_level = 30};
  const Geometry large = geometry("{type: 'Polygon', coordinates: [[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]]}");
  CHECK_THROWS_AS(geo::sphere_keys(large, fine), base::OperationError);
  CHECK_THROWS_AS(geo::sphere_keys(geometry("{type: 'LineString', coordinates: [[0, 0], [9, 0]]}"), fine), base::OperationError);
  const Geometry small = geometry("{type: 'LineString', coordinates: [[5, 5], [5.0000001, 5.0000001]]}");
  const auto keys = geo::sphere_keys(small, fine);
  CHECK(!keys.empty());
  const auto ranges = geo::sphere_ranges(large, fine);
  CHECK(ranges.size() < 100);
  for (const bson::Value& key : keys) {
    CHECK(std::any_of(ranges.begin(), ranges.end(), [&](const geo::CellRange& range) {
      return bson::compare(range.low, key) <= 0 && bson::compare(key, range.high) <= 0;
    }));
  }
}

TEST_CASE("Cells: whatever meets a query is in one of its ranges") {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> x(-179, 179), y(-85, 85), size(0.001, 20);
  const geo::IndexOptions sphere, flat{.sphere = false};
  int hits = 0;
  for (int i = 0; i < 300; ++i) {
    const double cx = x(random), cy = y(random), radius = size(random);
    const Geometry circle = shape("{$centerSphere: [[" + std::to_string(cx) + ", " + std::to_string(cy) + "], " +
                                  std::to_string(radius / 57.3) + "]}");
    const auto ranges = geo::sphere_ranges(circle, sphere);
    const auto box = circle.box();
    const auto squares = box ? geo::flat_ranges(*box, flat) : geo::CellRanges();
    std::normal_distribution<double> aside(0, radius);
    for (int j = 0; j < 20; ++j) {
      const double px = cx + aside(random), py = cy + aside(random);
      if (!geo::is_on_sphere({px, py})) continue;
      const Geometry place = point(px, py);
      if (!circle.contains(place)) continue;
      ++hits;
      CHECK(found(geo::sphere_keys(place, sphere), ranges));
      if (box) CHECK(found({geo::flat_key(place.point(), flat)}, squares));
      const Geometry line = geometry("{type: 'LineString', coordinates: [[" + std::to_string(px) + ", " + std::to_string(py) +
                                     "], [" + std::to_string(cx * 0.5) + ", " + std::to_string(cy * 0.5) + "]]}");
      CHECK(found(geo::sphere_keys(line, sphere), ranges));
    }
  }
  CHECK(hits > 500);
}
