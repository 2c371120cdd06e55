// $geoWithin and $geoIntersects match locations; $near and $nearSphere order them.
#pragma once

#include <limits>

#include "geo/geometry.h"
#include "server/query/match/node.h"

namespace server::query::match {

// Matches locations that lie within a geometry, or meet it.
class GeoNode : public PathNode {
 public:
  GeoNode(std::string_view path, geo::Geometry geometry, bool within, bson::DocumentView specification)
      : PathNode(Kind::geo, path, LeafArray::expand),
        geometry_(std::move(geometry)),
        within_(within),
        specification_(specification) {}

  const geo::Geometry& geometry() const { return geometry_; }
  bool within() const { return within_; }
  bool matches_value(const bson::ValueView& value) const override;
  void append_operator(bson::Builder& out) const override {
    out.append(within_ ? "$geoWithin" : "$geoIntersects", specification_);
  }

 private:
  const geo::Geometry geometry_;
  const bool within_;
  const bson::DocumentView specification_;
};

// $near and $nearSphere ask this. Distances are in the unit of the question: metres for a GeoJSON point, radians for a pair of
// coordinates on the sphere, units in a plane.
struct Near {
  geo::Point center;
  geo::Plane plane = geo::Plane::flat;
  bool geo_json = false;
  double least = 0;
  double most = std::numeric_limits<double>::infinity();

  // Returns how many of the question's units an angle, or a unit of the plane, has.
  double scale() const { return plane == geo::Plane::sphere && geo_json ? geo::earth_radius_m : 1; }
};

// It stands for an order, so it matches every document that has a location: the plan finds them by an index.
class NearNode : public PathNode {
 public:
  NearNode(std::string_view path, const Near& near, const bson::Element& specification)
      : PathNode(Kind::geo_near, path, LeafArray::expand), near_(near), specification_(specification) {}

  const Near& near() const { return near_; }
  bool matches_value(const bson::ValueView& value) const override { return value.exists(); }
  void append_operator(bson::Builder& out) const override { out.append_element(specification_); }

 private:
  const Near near_;
  const bson::Element specification_;
};

// Returns the node of a $near that the filter must fulfil as a whole; nullptr: there is none. Throws BadValue for one at another
// place, and for a second one.
const NearNode* near_of(const Node& root);

}  // namespace server::query::match
