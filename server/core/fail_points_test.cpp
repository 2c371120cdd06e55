#include "server/core/fail_points.h"

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "bson/json.h"

using namespace server;

namespace {

void set(FailPoints& points, const std::string& mode, const std::string& data = "{}", const std::string& name = "failCommand") {
  const bson::Document wrapped = bson::json("{mode: " + mode + "}");
  points.configure(name, wrapped.find("mode"), bson::json(data));
}

int32_t refused(const std::string& mode) {
  FailPoints points;
  return base::testing::code_of([&] { set(points, mode); });
}

}  // namespace

TEST_CASE("a fail point strikes as often as it was configured to") {
  FailPoints points;
  const auto strikes = [&] { return points.strikes("failCommand"); };
  CHECK_FALSE(points.any());
  CHECK_FALSE(strikes());
  set(points, "{times: 2}");
  CHECK(points.any());
  CHECK(strikes());
  CHECK(strikes());
  CHECK_FALSE(strikes());
  set(points, "{skip: 1}");
  CHECK_FALSE(strikes());
  CHECK(strikes());
  CHECK(strikes());
  set(points, "'alwaysOn'");
  CHECK(strikes());
  set(points, "{activationProbability: 0}");
  CHECK_FALSE(strikes());
  set(points, "{activationProbability: 1}");
  CHECK(strikes());
  set(points, "'off'");
  CHECK_FALSE(strikes());
  CHECK_FALSE(points.any());
  CHECK(points.entered("failCommand") == 6);
  set(points, "{times: 0}");
  CHECK_FALSE(strikes());
}

TEST_CASE("a fail point neither strikes nor counts where it is about somebody else") {
  FailPoints points;
  set(points, "{times: 1}", "{whom: 'a'}");
  const auto strikes = [&](std::string_view who) {
    return points.strike("failCommand", [&](bson::DocumentView data) { return data.find("whom").as_string() == who; })
        .has_value();
  };
  CHECK_FALSE(strikes("b"));
  CHECK(strikes("a"));
  CHECK_FALSE(strikes("a"));
  CHECK(points.entered("failCommand") == 1);
}

TEST_CASE("modes that can't be are refused") {
  for (const char* good : {"'off'", "'alwaysOn'", "{times: 2147483647}", "{skip: 3.0}", "{activationProbability: 0.5}"})
    CHECK(refused(good) == 0);
  for (const char* bad : {"'sometimes'", "{}", "{often: 1}", "{times: -1}", "{times: 1.5}", "{times: 2147483648}", "{times: NaN}",
                          "{skip: -1}", "{activationProbability: 1.1}", "{activationProbability: NaN}"}) {
    INFO(bad);
    CHECK(refused(bad) == 2);
  }
  for (const char* bad : {"1", "true", "[1]", "{times: 'x'}", "{skip: {}}", "{activationProbability: 'x'}"}) {
    INFO(bad);
    CHECK(refused(bad) == 14);
  }
  FailPoints points;
  CHECK_THROWS_WITH(points.configure("failCommand", bson::ValueView(), bson::DocumentView()),
                    "When setting a failpoint, you must supply a 'mode'");
  const bson::Document on = bson::json("{mode: 'alwaysOn'}");
  CHECK_THROWS_WITH(points.configure("noSuchPoint", on.find("mode"), bson::DocumentView()), "noSuchPoint not found");
}
