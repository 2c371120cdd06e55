// What window functions compute over points (x, y): slopes, areas, averages and
// lines through gaps. Pure.
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace server::query {

struct Point {
  double x = 0, y = 0;
};

// Of the line from the first point to the last; nullopt for fewer than two, or where they lie above each other.
std::optional<double> slope(std::span<const Point> points);
// Under the points, by trapezoids; 0 for one point, nullopt for none.
std::optional<double> area(std::span<const Point> points);
// Of x and y together; of a sample it is divided by one less. nullopt for too few points.
std::optional<double> covariance(std::span<const Point> points, bool of_sample);
// In place: values that are missing between two known ones, on the line between them.
void fill_gaps(std::span<const double> x, std::vector<std::optional<double>>& y);

}  // namespace server::query
