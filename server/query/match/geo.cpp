#include "server/query/match/geo.h"

#include "server/core/text.h"
#include "server/query/match/array.h"
#include "server/query/match/parser.h"

namespace server::query::match {

namespace {

using base::OperationError;
using bson::DocumentView;
using bson::Element;

NodePtr parse_geo(std::string_view path, const Element& operand, DocumentView, Parsing&) {
  const bool within = operand.name != "$geoIntersects";
  if (!operand.is_object()) bad_value("geometry must be an object");
  std::optional<geo::Geometry> geometry;
  for (const Element& shape : operand.as_document()) {
    if (shape.name != "$uniqueDocs") geometry = geo::Geometry::parse_shape(shape);
  }
  if (!geometry) bad_value("geo query doesn't have any geometry");
  if (within && !geometry->can_contain()) bad_value("$within not supported with provided geometry: " + show_element(operand));
  if (!within && geometry->plane() != geo::Plane::sphere)
    bad_value("$geoIntersect not supported with provided geometry: " + show_element(operand));
  return std::make_unique<GeoNode>(path, *std::move(geometry), within, operand.as_document());
}

// The numbers have codes of their own in both forms of the operator.
double distance(const Element& value, int not_number, int negative) {
  if (!value.is_number()) throw OperationError(not_number, std::string(value.name) + " must be a number");
  const double distance = value.to_double();
  if (!(distance >= 0)) throw OperationError(negative, std::string(value.name) + " must be non-negative");
  return distance;
}

bool is_near(std::string_view name) {
  return name == "$near" || name == "$nearSphere" || name == "$geoNear";
}

bool read_point(const bson::ValueView& value, Near& near) {
  try {
    near.center = geo::parse_point(value, near.geo_json);
  } catch (const OperationError&) {
    return false;
  }
  return true;
}

// {$near: [x, y], $minDistance: …, $maxDistance: …}, or with a GeoJSON point in place of the pair. A third coordinate is the
// greatest distance.
bool parse_pair(const Element& operand, DocumentView operators, Near& near) {
  if (!read_point(operand, near)) return false;
  if (!near.geo_json && operand.as_document().count() == 3) {
    auto third = operand.as_document().begin();
    ++ ++third;
    if (third->is_number()) {
      near.most = third->to_double();
      if (!(near.most >= 0)) throw OperationError(18522, "max distance must be non-negative");
    }
  }
  for (const Element& one : operators) {
    if (one.name == "$minDistance") {
      near.least = distance(one, 16893, 16894);
    } else if (one.name == "$maxDistance") {
      near.most = distance(one, 16895, 16896);
    } else if (!is_near(one.name) && one.name != "$uniqueDocs") {
      throw OperationError(34413, "invalid argument in geo near query: " + std::string(one.name));
    }
  }
  return true;
}

// Parses {$near: {$geometry: …, $minDistance: …, $maxDistance: …}}.
void parse_geometry(const Element& operand, DocumentView operators, Near& near) {
  for (const Element& one : operators) {
    if (!is_near(one.name)) {
      bad_value("geo near accepts just one argument when querying for a GeoJSON point. Extra field found: " + show_element(one));
    }
  }
  if (!operand.is_object()) bad_value("geo near query must be an object or an array, but found " + show_element(operand));
  bool found = false;
  for (const Element& one : operand.as_document()) {
    if (one.name == "$geometry") {
      if (!one.is_object() && !one.is_array()) continue;
      try {
        near.center = geo::parse_point(one, near.geo_json);
      } catch (const OperationError& error) {
        bad_value("invalid point in geo near query $geometry argument: " + show(one.as_document()) + "  " + error.what());
      }
      if (!near.geo_json) throw OperationError(16681, "$near requires geojson point, given " + show(one.as_document()));
      found = true;
    } else if (one.name == "$minDistance") {
      near.least = distance(one, 16897, 16898);
    } else if (one.name == "$maxDistance") {
      near.most = distance(one, 16899, 16900);
    } else {
      bad_value("invalid argument in geo near query: " + std::string(one.name));
    }
  }
  if (!found) bad_value("$geometry is required for geo near query");
}

NodePtr parse_near(std::string_view path, const Element& operand, DocumentView operators, Parsing& parsing) {
  // Only a query that sorts may order by distance.
  if (!parsing.context.scripts) {
    throw OperationError(5626500,
                         "$geoNear, $near, and $nearSphere are not allowed in this context, as these operators require sorting "
                         "geospatial data. If you do not need sort, consider using $geoWithin instead. Check out "
                         "https://dochub.mongodb.org/core/near-sort-operation and "
                         "https://dochub.mongodb.org/core/nearSphere-sort-operation for more details.");
  }
  Near near;
  if (!parse_pair(operand, operators, near)) {
    near = {};
    parse_geometry(operand, operators, near);
  }
  if (near.geo_json || operand.name == "$nearSphere") {
    if (!geo::is_on_sphere(near.center)) throw OperationError(17444, "Legacy point is out of bounds for spherical query");
    near.plane = geo::Plane::sphere;
  }
  return std::make_unique<NearNode>(path, near, operand);
}

// $minDistance and $maxDistance belong to the operator beside them.
NodePtr skip_distance(std::string_view, const Element& operand, DocumentView operators, Parsing&) {
  for (const Element& one : operators) {
    if (is_near(one.name)) return nullptr;
  }
  bad_value("unknown operator: " + std::string(operand.name));
}

constexpr PathOperatorRow path_operators[] = {
    {"$geoWithin", parse_geo},       {"$within", parse_geo},          {"$geoIntersects", parse_geo},
    {"$near", parse_near},           {"$nearSphere", parse_near},     {"$geoNear", parse_near},
    {"$minDistance", skip_distance}, {"$maxDistance", skip_distance}, {"$uniqueDocs", skip_distance},
};

void count_near(const Node& node, bool top, const NearNode*& found) {
  if (node.kind() == Kind::geo_near) {
    if (!top) bad_value("geo $near must be top-level expr");
    if (found) bad_value("Too many geoNear expressions");
    found = static_cast<const NearNode*>(&node);
    return;
  }
  if (node.kind() == Kind::negation) return count_near(static_cast<const NotNode&>(node).child(), false, found);
  if (node.kind() == Kind::elem_match_object) return count_near(static_cast<const ElemMatchObject&>(node).filter(), false, found);
  if (node.kind() == Kind::elem_match_value) {
    for (const NodePtr& child : static_cast<const ElemMatchValue&>(node).operators()) count_near(*child, false, found);
    return;
  }
  const bool tree = node.kind() == Kind::conjunction || node.kind() == Kind::disjunction || node.kind() == Kind::nor;
  if (!tree) return;
  for (const NodePtr& child : static_cast<const TreeNode&>(node).children())
    count_near(*child, top && node.kind() == Kind::conjunction, found);
}

}  // namespace

bool GeoNode::matches_value(const bson::ValueView& value) const {
  const auto location = geo::Geometry::try_parse(value);
  if (!location || location->strict() || !location->fits(geometry_.plane())) return false;
  return within_ ? geometry_.contains(*location) : geometry_.intersects(*location);
}

const NearNode* near_of(const Node& root) {
  const NearNode* found = nullptr;
  count_near(root, true, found);
  return found;
}

Family geo_family() {
  return {path_operators, {}};
}

}  // namespace server::query::match
