// These functions compute relations between geometries.
#include <s2/s2boolean_operation.h>
#include <s2/s2closest_edge_query.h>
#include <s2/s2contains_point_query.h>
#include <s2/s2furthest_edge_query.h>
#include <s2/s2point_vector_shape.h>

#include <algorithm>
#include <cmath>

#include "geo/geometry_parts.h"

namespace geo {
namespace {

using Parts = Geometry::Parts;
using Kind = Parts::Kind;

constexpr double pi = 3.14159265358979323846;

double flat_distance(const Point& a, const Point& b) {
  return std::hypot(a.x - b.x, a.y - b.y);
}

// Returns whether p lies on the side from a to b.
bool lies_on(const Point& p, const Point& a, const Point& b) {
  const double cross = (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
  return cross == 0 && p.x >= std::min(a.x, b.x) && p.x <= std::max(a.x, b.x) && p.y >= std::min(a.y, b.y) &&
         p.y <= std::max(a.y, b.y);
}

bool in_polygon(const Point& p, const std::vector<Point>& corners) {
  bool inside = false;
  for (size_t i = 0, j = corners.size() - 1; i < corners.size(); j = i++) {
    const Point &a = corners[i], &b = corners[j];
    if (lies_on(p, a, b)) return true;
    if ((a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x) inside = !inside;
  }
  return inside;
}

bool holds(const Parts& area, const Point& p) {
  switch (area.kind) {
    case Kind::point: return p.x == area.points[0].x && p.y == area.points[0].y;
    case Kind::box:
      return p.x >= area.points[0].x && p.x <= area.points[1].x && p.y >= area.points[0].y && p.y <= area.points[1].y;
    case Kind::polygon: return in_polygon(p, area.points);
    case Kind::circle: return flat_distance(p, area.points[0]) <= area.radius;
    case Kind::cap: return angle(p, area.points[0]) <= area.radius;
    case Kind::shapes: break;
  }
  const S2Point point = s2_point(p);
  return MakeS2ContainsPointQuery(&area.shapes, S2ContainsPointQueryOptions(S2VertexModel::CLOSED)).Contains(point);
}

S2BooleanOperation::Options closed() {
  S2BooleanOperation::Options options;
  options.set_polygon_model(S2BooleanOperation::PolygonModel::CLOSED);
  options.set_polyline_model(S2BooleanOperation::PolylineModel::CLOSED);
  return options;
}

double least_angle(const MutableS2ShapeIndex& shapes, const S2Point& point) {
  S2ClosestEdgeQuery query(&shapes);
  S2ClosestEdgeQuery::PointTarget target(point);
  const S1ChordAngle least = query.GetDistance(&target);
  return least.is_infinity() ? pi : least.ToAngle().radians();
}

// A circle holds what is nowhere further from its centre than its radius.
bool cap_holds(const Parts& cap, const MutableS2ShapeIndex& shapes) {
  S2FurthestEdgeQuery query(&shapes);
  S2FurthestEdgeQuery::PointTarget target(s2_point(cap.points[0]));
  return query.GetDistance(&target).ToAngle().radians() <= cap.radius;
}

}  // namespace

bool is_on_sphere(const Point& point) {
  return std::abs(point.x) <= 180 && std::abs(point.y) <= 90;
}

double angle(const Point& a, const Point& b) {
  return s2_point(a).Angle(s2_point(b));
}

bool Geometry::is_point() const {
  return parts_->kind == Kind::point;
}
Point Geometry::point() const {
  return parts_->points[0];
}
Plane Geometry::plane() const {
  return parts_->plane;
}
bool Geometry::strict() const {
  return parts_->strict;
}

bool Geometry::can_contain() const {
  return parts_->kind != Kind::point && (parts_->kind != Kind::shapes || parts_->areas);
}

bool Geometry::fits(Plane plane) const {
  if (!is_point()) return parts_->plane == plane;
  return plane == Plane::flat || is_on_sphere(point());
}

bool Geometry::spherical() const {
  return parts_->plane == Plane::sphere || (is_point() && is_on_sphere(point()));
}

bool Geometry::contains(const Geometry& other) const {
  if (other.is_point()) return holds(*parts_, other.point());
  if (parts_->kind == Kind::cap) return cap_holds(*parts_, other.parts_->shapes);
  if (parts_->kind != Kind::shapes) return false;
  return S2BooleanOperation::Contains(parts_->shapes, other.parts_->shapes, closed());
}

bool Geometry::intersects(const Geometry& other) const {
  if (other.is_point() && is_point()) return s2_point(point()) == s2_point(other.point());
  if (is_point()) return other.intersects(*this);
  if (parts_->kind == Kind::cap) {
    if (other.is_point()) return holds(*parts_, other.point());
    return least_angle(other.parts_->shapes, s2_point(parts_->points[0])) <= parts_->radius;
  }
  if (parts_->kind != Kind::shapes) return other.is_point() && holds(*parts_, other.point());
  if (!other.is_point()) return S2BooleanOperation::Intersects(parts_->shapes, other.parts_->shapes, closed());
  // Points of the edges of areas, and of lines, belong to them.
  return holds(*parts_, other.point()) || least_angle(parts_->shapes, s2_point(other.point())) < 1e-15;
}

double Geometry::distance(const Point& to, Plane plane) const {
  if (!is_point()) return least_angle(parts_->shapes, s2_point(to));
  return plane == Plane::flat ? flat_distance(point(), to) : angle(point(), to);
}

std::optional<Box> Geometry::box() const {
  switch (parts_->kind) {
    case Kind::point: return Box{point(), point()};
    case Kind::box: return Box{parts_->points[0], parts_->points[1]};
    case Kind::polygon: {
      Box all{parts_->points[0], parts_->points[0]};
      for (const Point& p : parts_->points) {
        all = {{std::min(all.low.x, p.x), std::min(all.low.y, p.y)}, {std::max(all.high.x, p.x), std::max(all.high.y, p.y)}};
      }
      return all;
    }
    case Kind::circle: {
      const Point c = point();
      const double r = parts_->radius;
      return Box{{c.x - r, c.y - r}, {c.x + r, c.y + r}};
    }
    case Kind::cap: {
      const Point c = point();
      const double degrees = parts_->radius * 180 / pi + 1e-9;
      if (c.y + degrees >= 90 || c.y - degrees <= -90) return std::nullopt;
      const double aside = std::asin(std::min(1.0, std::sin(degrees * pi / 180) / std::cos(c.y * pi / 180))) * 180 / pi + 1e-9;
      if (c.x + aside > 180 || c.x - aside < -180) return std::nullopt;
      return Box{{c.x - aside, c.y - degrees}, {c.x + aside, c.y + degrees}};
    }
    case Kind::shapes: break;
  }
  return std::nullopt;
}

}  // namespace geo
