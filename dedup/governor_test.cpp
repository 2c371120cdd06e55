#include "dedup/governor.h"

#include <catch2/catch.hpp>

#include <vector>

#include "base/random.h"
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
  for (int i = 0; i < 999; ++i) REQUIRE(governor.saw(true, 1000, 10) == Governor::Verdict::go_on);
  CHECK(governor.on());
  CHECK(governor.saw(true, 1000, 10) == Governor::Verdict::turn_off);
  CHECK_FALSE(governor.on());
}

TEST_CASE("a database that saves stays on") {
  Governor governor(small_window());
  for (int i = 0; i < 10'000; ++i) REQUIRE(governor.saw(true, 1000, 200) == Governor::Verdict::go_on);
  CHECK(governor.on());
}

TEST_CASE("a database that is off is tried again by chains, and comes back when it changed") {
  Governor governor(small_window());
  for (int i = 0; i < 1000; ++i) governor.saw(true, 1000, 0);
  CHECK(governor.state().reason == GovernorReason::ratio_too_low);
  CHECK(governor.state().ratio == 1.0);
  base::Random random(1);
  int tried = 0;
  for (int i = 0; i < 1000; ++i) {
    const bool probed = governor.probes(random());
    tried += probed;
    governor.saw(probed, 1000, 0);
  }
  CHECK(tried > 60);
  CHECK(tried < 140);
  CHECK_FALSE(governor.on());
  CHECK(governor.state().reason == GovernorReason::probe_too_low);
  CHECK(governor.state().contents_until_judged == 1000);
  for (int i = 0; i < 1000; ++i) governor.saw(governor.probes(random()), 1000, 500);
  CHECK(governor.on());
  CHECK(governor.state().reason == GovernorReason::came_back);
  CHECK_FALSE(governor.probes(0));
}

TEST_CASE("a single chain is tried sooner or later, and until then nothing is judged of it") {
  Governor governor(small_window());
  for (int i = 0; i < 1000; ++i) governor.saw(true, 1000, 0);
  int windows = 0;
  for (bool tried = false; !tried && windows < 100; ++windows) {
    for (int i = 0; i < 1000; ++i) {
      const bool probed = governor.probes(uint64_t{7} << 32);
      tried = tried || probed;
      governor.saw(probed, 1000, 500);
    }
    if (!tried) CHECK(governor.state().reason == GovernorReason::none_probed);
  }
  CHECK(governor.on());
  CHECK(windows < 20);
  // A turn lasts long enough for a chain's versions to belong to it together.
  int changes = 0;
  Governor off(small_window());
  for (int i = 0; i < 1000; ++i) off.saw(true, 1000, 0);
  bool before = off.probes(42);
  for (int i = 0; i < 100'000; ++i) {
    off.saw(false, 1000, 0);
    changes += off.probes(42) != before;
    before = off.probes(42);
  }
  CHECK(changes > 50);
  CHECK(changes < 1000);
}

TEST_CASE("versions that come a window apart are found, and so are those of few chains") {
  // A content that follows a version that was tried is saved.
  const auto windows_until_on = [](uint64_t chains) {
    Governor governor(small_window());
    for (int i = 0; i < 1000; ++i) governor.saw(true, 1000, 0);
    std::vector<bool> known(chains);
    int windows = 0;
    for (; !governor.on() && windows < 100; ++windows) {
      for (uint64_t i = 0; i < 1000; ++i) {
        const uint64_t chain = (1000 * windows + i) % chains;
        const bool probed = governor.probes(chain);
        governor.saw(probed, 1000, probed && known[chain] ? 900 : 0);
        if (probed) known[chain] = true;
      }
    }
    return windows;
  };
  CHECK(windows_until_on(2000) <= 6);
  CHECK(windows_until_on(1000) <= 3);
  CHECK(windows_until_on(100) <= 2);
  CHECK(windows_until_on(3) <= 20);
}

TEST_CASE("a ratio between the two limits doesn't turn dedup on, nor off") {
  for (const bool on : {false, true}) {
    Governor governor(small_window());
    if (!on)
      for (int i = 0; i < 1000; ++i) governor.saw(true, 1000, 0);
    for (int i = 0; i < 5000; ++i) governor.saw(true, 1000, 110);  // 1.12
    CHECK(governor.on() == on);
  }
}

TEST_CASE("the thesis's governor never comes back") {
  Options options = small_window();
  options.governor_probe_contents = 0;
  Governor governor(options);
  for (int i = 0; i < 1000; ++i) governor.saw(true, 1000, 0);
  CHECK(governor.never_probes());
  for (int i = 0; i < 5000; ++i) {
    REQUIRE_FALSE(governor.probes(0));
    governor.saw(false, 1000, 0);
  }
  CHECK_FALSE(governor.on());
}

TEST_CASE("without a window the governor judges nothing, and says so") {
  Options options = small_window();
  Governor governor(options);
  for (int i = 0; i < 1000; ++i) governor.saw(true, 1000, 0);
  options.governor_window = 0;
  governor.set_options(options);
  CHECK(governor.on());
  CHECK(governor.state().reason == GovernorReason::never_judges);
  options.enabled = false;
  governor.set_options(options);
  CHECK_FALSE(governor.state().on);
  CHECK(governor.state().reason == GovernorReason::switched_off);
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
