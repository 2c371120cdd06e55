#include "server/query/stages/window_curves.h"

#include "bson/arithmetic.h"

namespace server::query {

using bson::Value;

Value slope(const NumberPoint& from, const NumberPoint& to) {
  return bson::number::divide(bson::number::subtract(to.y, from.y), bson::number::subtract(to.x, from.x));
}

Value area(const NumberPoint& from, const NumberPoint& to) {
  const Value width = bson::number::subtract(to.x, from.x), heights = bson::number::add(from.y, to.y);
  return bson::number::divide(bson::number::multiply(heights, width), Value(2.0));
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
