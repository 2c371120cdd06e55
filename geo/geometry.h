// Geometries: what documents and queries have at a place.
//
//   GeoJSON               on the sphere, longitude and latitude in degrees: Point … GeometryCollection
//   [x, y], {lng, lat}    a point of a plane, or of the sphere if it is asked there
//   $box, $polygon, $center   of a plane, and $centerSphere on the sphere: in queries alone
//
// Distances on the sphere are angles in radians; the edges of polygons and lines are parts of great circles. Points at the edge
// of an area lie in it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"

namespace geo {

inline constexpr double earth_radius_m = 6378100;  // MongoDB's

enum class Plane { flat, sphere };

struct Point {
  double x = 0;  // longitude
  double y = 0;  // latitude
};

// Returns whether a point has a longitude of -180 … 180 and a latitude of -90 … 90.
bool is_on_sphere(const Point& point);
// Says that it doesn't.
std::string out_of_bounds(const Point& point);
// Returns the angle between two points of the sphere.
double angle(const Point& a, const Point& b);

// A box of a plane that holds something; its sides belong to it.
struct Box {
  Point low, high;
};

// Cheap to copy; thread-safe once it is made.
class Geometry {
 public:
  // Parses a document's value: GeoJSON or a pair of coordinates. Throws BadValue for what is neither.
  static Geometry parse(const bson::ValueView& value);
  // Does the same, and returns nullopt in place of an error.
  static std::optional<Geometry> try_parse(const bson::ValueView& value);
  // Parses a query's {$geometry: …}, {$box: …}, {$polygon: …}, {$center: …} or {$centerSphere: …}. Throws BadValue.
  static Geometry parse_shape(const bson::Element& shape);

  bool is_point() const;
  Point point() const;  // of a point
  Plane plane() const;
  // It was given with the coordinate system that orders a polygon's points strictly: no index takes it, and no query finds it.
  bool strict() const;
  // It has an inside or more than one point, so that it can contain others.
  bool can_contain() const;
  // A pair of coordinates fits both the plane and, within its bounds, the sphere; a GeoJSON point, too.
  bool fits(Plane plane) const;

  // `other` fits this geometry's plane.
  bool contains(const Geometry& other) const;
  bool intersects(const Geometry& other) const;
  // Returns the least distance to a point: an angle on the sphere, units in a plane.
  double distance(const Point& point, Plane plane) const;

  // Returns a box that holds all of a flat shape, or of a circle on the sphere in degrees; nullopt: it would wrap around.
  std::optional<Box> box() const;
  // Returns whether S2 can cover it; a pair of coordinates can be.
  bool spherical() const;

  struct Parts;
  explicit Geometry(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}
  const Parts& parts() const { return *parts_; }

 private:
  std::shared_ptr<const Parts> parts_;
};

// Parses a point: GeoJSON or a pair of coordinates. Sets `geo_json`. Throws BadValue.
Point parse_point(const bson::ValueView& value, bool& geo_json);

}  // namespace geo
