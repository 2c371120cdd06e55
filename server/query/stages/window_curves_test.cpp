#include "server/query/stages/window_curves.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/numeric.h"

using namespace server::query;

namespace {

NumberPoint point(double x, double y) {
  return {bson::Value(x), bson::Value(y)};
}

bson::Value decimal(const char* text) {
  return bson::Value(bson::decimal_from_string(text).value());
}

}  // namespace

TEST_CASE("the slope and the area of a line are the line's") {
  base::Random random(1);
  for (int run = 0; run < 200; ++run) {
    const double a = random.unit() * 10 - 5, b = random.unit() * 10;
    const double x0 = random.unit(), x1 = x0 + 0.1 + random.unit();
    const NumberPoint from = point(x0, a * x0 + b), to = point(x1, a * x1 + b);
    CHECK(slope(from, to).view().to_double() == Approx(a).margin(1e-9));
    CHECK(area(from, to).view().to_double() == Approx(a / 2 * (x1 * x1 - x0 * x0) + b * (x1 - x0)).margin(1e-6));
  }
  CHECK_FALSE(slope(point(1, 2), point(1, 3)).exists());
  CHECK(area(point(1, 2), point(1, 3)).view().to_double() == 0);
}

TEST_CASE("slopes and areas of decimals are decimals") {
  const NumberPoint from{bson::Value(1), decimal("0.1")}, to{bson::Value(int64_t{4}), decimal("0.2")};
  CHECK(bson::decimal_to_string(slope(from, to).view().as_decimal128()) == "0.03333333333333333333333333333333333");
  CHECK(bson::decimal_to_string(area(from, to).view().as_decimal128()) == "0.45");
  CHECK(slope({decimal("1"), bson::Value(2)}, {decimal("3"), bson::Value(3)}).view().as_decimal128() ==
        decimal("0.5").view().as_decimal128());
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
