// These functions make geometries of BSON.
#include <s2/s2loop.h>
#include <s2/s2point_vector_shape.h>
#include <s2/s2polygon.h>
#include <s2/s2polyline.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/types.h"
#include "geo/geometry_parts.h"

namespace geo {
namespace {

using bson::DocumentView;
using bson::Element;
using bson::ValueView;
using Parts = Geometry::Parts;

constexpr std::string_view strict_winding = "urn:x-mongodb:crs:strictwinding:EPSG:4326";

[[noreturn]] void bad(const std::string& message) {
  throw base::OperationError(base::ErrorCode::bad_value, message);
}

std::string type_of(const ValueView& value) {
  return value.exists() ? std::string(bson::type_name(value.type())) : "missing";
}

bool is_container(const ValueView& value) {
  return value.is_object() || value.is_array();
}

std::string text(double number) {
  bson::Builder out;
  out.append("", number);
  return bson::to_shell(static_cast<ValueView>(out.done().view().first()));
}

Point flat_point(const ValueView& value, bool more_allowed) {
  if (!is_container(value)) bad("Point must be an array or object, instead got type " + type_of(value));
  auto it = value.as_document().begin();
  const auto end = value.as_document().end();
  double coordinates[2];
  for (double& coordinate : coordinates) {
    const ValueView number = it == end ? ValueView() : static_cast<ValueView>(*it);
    if (!number.is_number()) bad("Point must only contain numeric elements, instead got type " + type_of(number));
    coordinate = number.to_double();
    ++it;
  }
  if (!more_allowed && it != end) bad("Point must only contain two numeric elements");
  if (!std::isfinite(coordinates[0]) || !std::isfinite(coordinates[1])) bad("Point coordinates must be finite numbers");
  return {coordinates[0], coordinates[1]};
}

Point checked(const Point& point) {
  if (!is_on_sphere(point)) bad(out_of_bounds(point));
  return point;
}

Point position(const ValueView& value) {
  if (!value.is_array()) bad("GeoJSON coordinates must be an array of coordinates, instead got type " + type_of(value));
  return checked(flat_point(value, true));
}

void check_array(const ValueView& value, const char* of) {
  if (!value.is_array()) bad(std::string(of) + ", instead got type " + type_of(value));
}

std::vector<S2Point> positions(const ValueView& value) {
  check_array(value, "GeoJSON coordinates must be an array of coordinates");
  std::vector<S2Point> points;
  for (const Element& one : value.as_document()) points.push_back(s2_point(position(one)));
  return points;
}

void drop_repeated(std::vector<S2Point>& points) {
  points.erase(std::unique(points.begin(), points.end()), points.end());
}

void add_line(const ValueView& coordinates, Parts& parts) {
  std::vector<S2Point> points = positions(coordinates);
  drop_repeated(points);
  if (points.size() < 2) bad("GeoJSON LineString must have at least 2 vertices: " + bson::to_shell(coordinates));
  auto line = std::make_unique<S2Polyline>(points, S2Debug::DISABLE);
  S2Error error;
  if (line->FindValidationError(&error))
    bad("GeoJSON LineString is not valid: " + error.text() + " " + bson::to_shell(coordinates));
  parts.shapes.Add(std::make_unique<S2Polyline::OwningShape>(std::move(line)));
}

std::unique_ptr<S2Loop> parse_loop(const ValueView& ring) {
  std::vector<S2Point> points = positions(ring);
  if (points.empty()) bad("Loop has no vertices: " + bson::to_shell(ring));
  if (points.front() != points.back())
    bad("Loop is not closed, first vertex does not equal last vertex: " + bson::to_shell(ring));
  drop_repeated(points);
  if (points.size() > 1) points.pop_back();
  if (points.size() < 3) {
    bad("Loop must have at least 3 different vertices, " + std::to_string(points.size()) +
        " unique vertices were provided: " + bson::to_shell(ring));
  }
  auto loop = std::make_unique<S2Loop>(points, S2Debug::DISABLE);
  S2Error error;
  if (loop->FindValidationError(&error)) bad("Loop is not valid: " + bson::to_shell(ring) + " " + error.text());
  return loop;
}

void add_polygon(const ValueView& coordinates, bool strict, Parts& parts) {
  check_array(coordinates, "Polygon coordinates must be an array of arrays of coordinates");
  std::vector<std::unique_ptr<S2Loop>> loops;
  for (const Element& ring : coordinates.as_document()) {
    if (strict && !loops.empty())
      bad("Only one simple loop is allowed in a big polygon, instead provided " +
          std::to_string(coordinates.as_document().count()) + " loops: " + bson::to_shell(coordinates));
    std::unique_ptr<S2Loop> loop = parse_loop(ring);
    // A loop goes around the smaller side, unless the order of its points is meant strictly.
    if (!strict) loop->Normalize();
    if (!loops.empty() && !loops.front()->Contains(*loop.get())) {
      bad("Secondary loops not contained by first exterior loop - secondary loops must be holes: " + bson::to_shell(ring) +
          " first loop: " + bson::to_shell(static_cast<ValueView>(coordinates.as_document().first())));
    }
    loops.push_back(std::move(loop));
  }
  if (loops.empty()) bad("Polygon has no loops.");
  auto polygon = std::make_unique<S2Polygon>();
  polygon->set_s2debug_override(S2Debug::DISABLE);
  if (loops.size() == 1) {
    polygon->Init(std::move(loops.front()));
  } else {
    polygon->InitNested(std::move(loops));
  }
  S2Error error;
  if (polygon->FindValidationError(&error)) bad("Polygon isn't valid: " + error.text() + " " + bson::to_shell(coordinates));
  parts.areas = true;
  parts.shapes.Add(std::make_unique<S2Polygon::OwningShape>(std::move(polygon)));
}

template <class Add>
void add_each(const ValueView& coordinates, const std::string& type, Add add) {
  check_array(coordinates, (type + " coordinates must be an array").c_str());
  if (coordinates.as_document().empty()) bad(type + " coordinates must have at least 1 element");
  for (const Element& one : coordinates.as_document()) add(one);
}

bool parse_strictness(DocumentView object) {
  const Element crs = object.find("crs");
  if (!crs.exists()) return false;
  if (!crs.is_object()) bad("GeoJSON CRS must be an object, instead got type " + type_of(crs));
  const Element type = crs.as_document().find("type");
  if (!type.is_string() || type.as_string() != "name") bad("GeoJSON CRS must have field \"type\": \"name\"");
  const Element properties = crs.as_document().find("properties");
  if (!properties.is_object())
    bad("CRS must have field \"properties\" which is an object, instead got type " + type_of(properties));
  const Element name = properties.as_document().find("name");
  if (!name.is_string()) bad("In CRS, \"properties.name\" must be a string, instead got type " + type_of(name));
  const std::string_view wanted = name.as_string();
  if (wanted == "urn:ogc:def:crs:OGC:1.3:CRS84" || wanted == "EPSG:4326") return false;
  if (wanted != strict_winding) bad("Unknown CRS name: " + std::string(wanted));
  const Element shape = object.find("type");
  if (!shape.is_string() || shape.as_string() != "Polygon") bad("Strict winding order is only supported by polygon");
  return true;
}

void add_geo_json(DocumentView object, Parts& parts, bool nested);

void add_collection(DocumentView object, Parts& parts) {
  const Element geometries = object.find("geometries");
  check_array(geometries, "GeometryCollection geometries must be an array");
  if (geometries.as_document().empty()) bad("GeometryCollection geometries must have at least 1 element");
  for (const Element& one : geometries.as_document()) {
    if (!one.is_object())
      bad("Element " + std::string(one.name) + " of \"geometries\" must be an object, instead got type " + type_of(one));
    const Element type = one.as_document().find("type");
    if (type.is_string() && type.as_string() == "GeometryCollection")
      bad("GeometryCollections cannot be nested: " + bson::to_shell(one.as_document()));
    add_geo_json(one.as_document(), parts, true);
  }
}

void add_geo_json(DocumentView object, Parts& parts, bool nested) {
  const Element type_field = object.find("type");
  const std::string type(type_field.is_string() ? type_field.as_string() : std::string_view());
  const Element coordinates = object.find("coordinates");
  const bool strict = parse_strictness(object);
  parts.kind = Parts::Kind::shapes;
  parts.plane = Plane::sphere;
  if (type == "Point") {
    const Point point = position(coordinates);
    if (nested) {
      parts.shapes.Add(std::make_unique<S2PointVectorShape>(std::vector<S2Point>{s2_point(point)}));
    } else {
      parts.kind = Parts::Kind::point;
      parts.points = {point};
    }
  } else if (type == "LineString") {
    add_line(coordinates, parts);
  } else if (type == "Polygon") {
    parts.strict = parts.strict || strict;
    add_polygon(coordinates, strict, parts);
  } else if (type == "MultiPoint") {
    std::vector<S2Point> points;
    add_each(coordinates, type, [&](const Element& one) { points.push_back(s2_point(position(one))); });
    parts.shapes.Add(std::make_unique<S2PointVectorShape>(std::move(points)));
  } else if (type == "MultiLineString") {
    add_each(coordinates, type, [&](const Element& one) { add_line(one, parts); });
  } else if (type == "MultiPolygon") {
    add_each(coordinates, type, [&](const Element& one) { add_polygon(one, false, parts); });
  } else if (type == "GeometryCollection") {
    add_collection(object, parts);
  } else {
    bad("unknown GeoJSON type: " + bson::to_shell(object));
  }
}

bool is_pair(const ValueView& value) {
  return value.is_array() || value.as_document().first().is_number();
}

double radius_of(DocumentView circle) {
  auto it = circle.begin();
  const auto end = circle.end();
  if (it != end) ++it;
  if (it == end || !it->is_number() || !(it->to_double() >= 0)) bad("radius must be a non-negative number");
  const double radius = it->to_double();
  if (++it != end) bad("Only 2 fields allowed for circular region");
  return radius;
}

void parse_flat_shape(const Element& shape, Parts& parts) {
  const DocumentView fields = shape.as_document();
  const std::string_view name = shape.name;
  if (name == "$center" || name == "$centerSphere") {
    const Point center = flat_point(fields.first(), false);
    parts.kind = name == "$center" ? Parts::Kind::circle : Parts::Kind::cap;
    parts.plane = name == "$center" ? Plane::flat : Plane::sphere;
    parts.points = {parts.plane == Plane::sphere ? checked(center) : center};
    parts.radius = radius_of(fields);
    return;
  }
  for (const Element& one : fields) {
    parts.points.push_back(flat_point(one, false));
    if (name == "$box" && parts.points.size() == 2) break;
  }
  if (name == "$polygon") {
    if (parts.points.size() < 3) bad("Polygon must have at least 3 points");
    parts.kind = Parts::Kind::polygon;
    return;
  }
  if (parts.points.size() < 2) flat_point(ValueView(), false);
  parts.kind = Parts::Kind::box;
  const Point a = parts.points[0], b = parts.points[1];
  parts.points = {{std::min(a.x, b.x), std::min(a.y, b.y)}, {std::max(a.x, b.x), std::max(a.y, b.y)}};
}

Geometry finished(std::shared_ptr<Parts> parts) {
  // The index is built at the first use otherwise, which would make that use slow and others wait.
  if (parts->kind == Parts::Kind::shapes) parts->shapes.ForceBuild();
  return Geometry(std::move(parts));
}

}  // namespace

std::string out_of_bounds(const Point& point) {
  return "Longitude/latitude is out of bounds, lng: " + text(point.x) + " lat: " + text(point.y);
}

Geometry Geometry::parse(const ValueView& value) {
  if (!is_container(value)) bad("geo element must be an array or object: " + bson::to_shell(value));
  auto parts = std::make_shared<Parts>();
  if (is_pair(value)) {
    parts->points = {flat_point(value, true)};
  } else {
    add_geo_json(value.as_document(), *parts, false);
  }
  return finished(std::move(parts));
}

std::optional<Geometry> Geometry::try_parse(const ValueView& value) {
  if (!is_container(value)) return std::nullopt;
  try {
    return parse(value);
  } catch (const base::OperationError&) {
    return std::nullopt;
  }
}

Geometry Geometry::parse_shape(const Element& shape) {
  const std::string_view name = shape.name;
  const bool known = name == "$geometry" || name == "$box" || name == "$polygon" || name == "$center" || name == "$centerSphere";
  if (!known || !is_container(shape)) {
    bad("unknown geo specifier: " + std::string(name) + ": " + bson::to_shell(static_cast<ValueView>(shape)));
  }
  auto parts = std::make_shared<Parts>();
  if (name == "$geometry") {
    add_geo_json(shape.as_document(), *parts, false);
  } else {
    parse_flat_shape(shape, *parts);
  }
  return finished(std::move(parts));
}

Point parse_point(const ValueView& value, bool& geo_json) {
  if (!is_container(value)) bad("Point must be an array or object, instead got type " + type_of(value));
  geo_json = !is_pair(value);
  if (!geo_json) return flat_point(value, true);
  const Element type = value.as_document().find("type");
  if (!type.is_string() || type.as_string() != "Point") bad("Point must be of type \"Point\": " + bson::to_shell(value));
  if (parse_strictness(value.as_document())) bad("Strict winding order is only supported by polygon");
  return position(value.as_document().find("coordinates"));
}

}  // namespace geo
