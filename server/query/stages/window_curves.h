// Window functions compute slopes, areas, averages and lines through gaps over
// points (x, y). These functions are pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "bson/value.h"

namespace server::query {

// A point whose coordinates are numbers of any type. What is computed of them has the type that bson/arithmetic.h promotes them
// to.
struct NumberPoint {
  bson::Value x, y;
};

struct Point {
  double x = 0, y = 0;
};

// Returns the slope of the line between two points; a missing value if they have the same x.
bson::Value slope(const NumberPoint& from, const NumberPoint& to);
// Returns the area under the line between two points.
bson::Value area(const NumberPoint& from, const NumberPoint& to);
// Returns the covariance of x and y; for a sample, the divisor is one less. nullopt if there are too few points.
std::optional<double> covariance(std::span<const Point> points, bool of_sample);
// Fills values that are missing between two known ones, in place, on the line between them.
void fill_gaps(std::span<const double> x, std::vector<std::optional<double>>& y);

}  // namespace server::query
