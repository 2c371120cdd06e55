// This is the inside of a geometry, for this folder alone.
#pragma once

#include <s2/mutable_s2shape_index.h>
#include <s2/s2cap.h>
#include <s2/s2latlng.h>

#include "geo/geometry.h"

namespace geo {

struct Geometry::Parts {
  enum class Kind { point, box, polygon, circle, cap, shapes };
  Kind kind = Kind::point;
  Plane plane = Plane::flat;  // for a point: it was given as GeoJSON
  bool strict = false;
  bool areas = false;         // shapes: it has polygons
  std::vector<Point> points;  // a point; a box's lower and upper corner; a polygon's corners; a circle's or cap's centre
  double radius = 0;          // circle: units; cap: radians
  MutableS2ShapeIndex shapes;
};

inline S2Point s2_point(const Point& point) {
  return S2LatLng::FromDegrees(point.y, point.x).Normalized().ToPoint();
}

}  // namespace geo
