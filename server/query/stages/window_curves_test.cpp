#include "server/query/stages/window_curves.h"

#include <catch2/catch.hpp>

#include "base/random.h"

using namespace server::query;

TEST_CASE("the slope and the area of a line are the line's") {
  base::Random random(1);
  for (int run = 0; run < 200; ++run) {
    const double a = random.unit() * 10 - 5, b = random.unit() * 10;
    std::vector<Point> points;
    for (double x = random.unit(); points.size() < 2 + random.below(20); x += 0.1 + random.unit())
      points.push_back({x, a * x + b});
    const double from = points.front().x, to = points.back().x;
    CHECK(slope(points).value() == Approx(a).margin(1e-9));
    CHECK(area(points).value() == Approx(a / 2 * (to * to - from * from) + b * (to - from)).margin(1e-6));
  }
  CHECK_FALSE(slope({}));
  CHECK_FALSE(area({}));
  const std::vector<Point> above{{1, 2}, {1, 3}};
  CHECK_FALSE(slope(above));
  CHECK(area(std::vector<Point>{{1, 2}}).value() == 0);
}

TEST_CASE("covariance is that of its definition") {
  base::Random random(2);
  for (int run = 0; run < 200; ++run) {
    std::vector<Point> points(1 + random.below(30));
    double x = 0, y = 0, product = 0;
    for (Point& point : points) {
      point = {random.unit() * 100, random.unit() * 100};
      x += point.x;
      y += point.y;
      product += point.x * point.y;
    }
    const auto n = static_cast<double>(points.size());
    CHECK(covariance(points, false).value() == Approx(product / n - x / n * (y / n)).margin(1e-6));
    if (n > 1) CHECK(covariance(points, true).value() == Approx(covariance(points, false).value() * n / (n - 1)));
  }
  CHECK_FALSE(covariance({}, false));
  CHECK_FALSE(covariance(std::vector<Point>{{1, 1}}, true));
}

TEST_CASE("gaps between known values are filled, ends are not") {
  const std::vector<double> x{0, 1, 2, 4, 5};
  std::vector<std::optional<double>> y{std::nullopt, 1, std::nullopt, 7, std::nullopt};
  fill_gaps(x, y);
  CHECK_FALSE(y[0]);
  CHECK(y[2].value() == Approx(3));
  CHECK_FALSE(y[4]);
}
