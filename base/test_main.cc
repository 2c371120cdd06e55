// The `main` of every folder's unit tests. Where a test fails that made random choices, it prints the seed that repeats them.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include "base/testing.h"

namespace {

struct SeedPrinter : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo& test) override {
    TestEventListenerBase::testCaseStarting(test);
    base::testing::seed_was_used = false;
  }
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (!stats.totals.assertions.allPassed() && base::testing::seed_was_used)
      Catch::cout() << "PALIMPSEST_TEST_SEED=" << base::testing::seed() << " repeats the random choices of \""
                    << stats.testInfo.name << "\"\n";
  }
};

}  // namespace

CATCH_REGISTER_LISTENER(SeedPrinter)
