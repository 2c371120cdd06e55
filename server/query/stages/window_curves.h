// Window functions compute slopes, areas, averages and lines through gaps over
// points (x, y). These functions are pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace server::query {

struct Point {
  double x = 0, y = 0;
};

// Returns the slope of the line from the first point to the last; nullopt for fewer than two, or if they have the same x.
std::optional<double> slope(std::span<const Point> points);
// Returns the area under the points, by trapezoids; 0 for one point, nullopt for none.
std::optional<double> area(std::span<const Point> points);
// Returns the covariance of x and y; for a sample, the divisor is one less. nullopt if there are too few points.
std::optional<double> covariance(std::span<const Point> points, bool of_sample);
// Fills values that are missing between two known ones, in place, on the line between them.
void fill_gaps(std::span<const double> x, std::vector<std::optional<double>>& y);

}  // namespace server::query
