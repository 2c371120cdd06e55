// The keys of geospatial indexes, and the ranges of keys that may belong to a place.
//
// A "2dsphere" index has the ids of the S2 cells that cover a geometry, as int64; a cell's range of ids has all cells within it,
// and the larger cells around it are looked up one by one. A "2d" index has 8 bytes: the bits of a point's column and row in
// turn, the highest first, so that the cells of a square are a range.
#pragma once

#include <utility>
#include <vector>

#include "bson/value.h"
#include "geo/geometry.h"
#include "geo/index_options.h"

namespace geo {

struct CellRange {
  bson::Value low, high;  // both belong to it
};
using CellRanges = std::vector<CellRange>;

// Returns the keys of a geometry in a "2dsphere" index. Throws BadValue for one that it can't have.
std::vector<bson::Value> sphere_keys(const Geometry& geometry, const IndexOptions& options);
// Returns the key of a point in a "2d" index. Throws 13027 for a point beyond its bounds.
bson::Value flat_key(const Point& point, const IndexOptions& options);

// Return ranges that have the keys of everything that meets the geometry. They are ascending and disjoint.
CellRanges sphere_ranges(const Geometry& geometry, const IndexOptions& options);
CellRanges flat_ranges(const Box& box, const IndexOptions& options);
// The same for everything that is at most so far from a point, in radians.
CellRanges sphere_ranges(const Point& center, double radius, const IndexOptions& options);

}  // namespace geo
