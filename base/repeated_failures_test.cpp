#include "base/repeated_failures.h"

#include <catch2/catch.hpp>
#include <stdexcept>

using base::RepeatedFailures;

TEST_CASE("failures are taken together, at most once a minute") {
  constexpr int64_t minute_us = 60'000'000;
  RepeatedFailures failures;
  CHECK_FALSE(failures.take_due(0));
  failures.add(std::runtime_error("one"));
  auto taken = failures.take_due(5);
  REQUIRE(taken);
  CHECK(taken->first == "one");
  CHECK(taken->times == 1);
  failures.add(std::runtime_error("two"));
  failures.add(std::runtime_error("three"));
  CHECK_FALSE(failures.take_due(4 + minute_us));
  taken = failures.take_due(5 + minute_us);
  REQUIRE(taken);
  CHECK(taken->first == "two");
  CHECK(taken->times == 2);
  CHECK_FALSE(failures.take_due(5 + 3 * minute_us));
}
