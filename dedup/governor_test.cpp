#include "dedup/governor.h"

#include <catch2/catch.hpp>

#include "dedup/size_filter.h"

using namespace dedup;

namespace {

Options small_window() {
  Options options;
  options.governor_window = 1000;
  options.governor_probe_contents = 100;
  return options;
}

}  // namespace

TEST_CASE("a database that saves nothing is turned off after a window") {
  Governor governor(small_window());
  for (int i = 0; i < 999; ++i) REQUIRE(governor.saw(1000, 10) == Governor::Verdict::go_on);
  CHECK(governor.on());
  CHECK(governor.saw(1000, 10) == Governor::Verdict::turn_off);
  CHECK_FALSE(governor.on());
}

TEST_CASE("a database that saves stays on") {
  Governor governor(small_window());
  for (int i = 0; i < 10'000; ++i) REQUIRE(governor.saw(1000, 200) == Governor::Verdict::go_on);
  CHECK(governor.on());
}

TEST_CASE("a database that is off is tried again and comes back when it changed") {
  Governor governor(small_window());
  for (int i = 0; i < 1000; ++i) governor.saw(1000, 0);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    tried += governor.wants_next();
    governor.saw(1000, 0);
  }
  CHECK(tried == 100);
  CHECK_FALSE(governor.on());
  for (int i = 0; i < 100; ++i) governor.saw(1000, 500);
  CHECK(governor.on());
  CHECK(governor.wants_next());
}

TEST_CASE("the thesis's governor never comes back") {
  Options options = small_window();
  options.governor_probe_contents = 0;
  Governor governor(options);
  for (int i = 0; i < 1000; ++i) governor.saw(1000, 0);
  for (int i = 0; i < 5000; ++i) {
    REQUIRE_FALSE(governor.wants_next());
    governor.saw(1000, 500);
  }
}

TEST_CASE("under pressure the smallest two fifths are left out") {
  Options options;
  SizeFilter filter(options);
  for (uint32_t i = 0; i < 1000; ++i) CHECK(filter.admits(i));
  CHECK(filter.admits(10));
  filter.set_pressure(true);
  CHECK(filter.threshold() == 400);
  CHECK_FALSE(filter.admits(399));
  CHECK(filter.admits(400));
  filter.set_pressure(false);
  CHECK(filter.admits(1));
}

TEST_CASE("the thesis's filter works without pressure and follows the sizes") {
  SizeFilter filter(Options::of(Profile::thesis));
  for (uint32_t i = 0; i < 1000; ++i) filter.admits(100);
  CHECK_FALSE(filter.admits(99));
  for (uint32_t i = 0; i < 1000; ++i) filter.admits(10);
  CHECK(filter.admits(10));
}
