#include "server/query/stages/window_curves.h"

namespace server::query {

std::optional<double> slope(std::span<const Point> points) {
  if (points.size() < 2) return std::nullopt;
  const double run = points.back().x - points.front().x;
  if (run == 0) return std::nullopt;
  return (points.back().y - points.front().y) / run;
}

std::optional<double> area(std::span<const Point> points) {
  if (points.empty()) return std::nullopt;
  double sum = 0;
  for (size_t i = 1; i < points.size(); ++i) sum += (points[i].x - points[i - 1].x) * (points[i].y + points[i - 1].y) / 2;
  return sum;
}

std::optional<double> covariance(std::span<const Point> points, bool of_sample) {
  const size_t divisor = of_sample && !points.empty() ? points.size() - 1 : points.size();
  if (divisor == 0) return std::nullopt;
  double mean_x = 0, mean_y = 0, sum = 0, count = 0;
  for (const Point& point : points) {
    ++count;
    const double from_mean = point.x - mean_x;
    mean_x += from_mean / count;
    mean_y += (point.y - mean_y) / count;
    sum += from_mean * (point.y - mean_y);
  }
  return sum / static_cast<double>(divisor);
}

void fill_gaps(std::span<const double> x, std::vector<std::optional<double>>& y) {
  size_t known = y.size();  // none yet
  for (size_t i = 0; i < y.size(); ++i) {
    if (!y[i]) continue;
    if (known < i) {
      const double rise = *y[i] - *y[known], run = x[i] - x[known];
      for (size_t gap = known + 1; gap < i; ++gap) y[gap] = *y[known] + rise * (x[gap] - x[known]) / run;
    }
    known = i;
  }
}

}  // namespace server::query
