#include "dedup/hop_policy.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

using dedup::HopPolicy;

namespace {

// Returns the base of each content of a chain of `count`; the newest has none.
std::vector<uint32_t> bases_of_chain(const HopPolicy& policy, uint32_t count) {
  std::vector<uint32_t> base(count, 0);
  for (uint32_t newest = 1; newest < count; ++newest) {
    base[newest - 1] = newest;
    for (const uint32_t target : policy.re_encoded(newest)) base[target] = newest;
  }
  return base;
}

uint32_t hops(const std::vector<uint32_t>& base, uint32_t from) {
  uint32_t hops = 0;
  for (; from + 1 < base.size(); from = base[from]) ++hops;
  return hops;
}

}  // namespace

TEST_CASE("bases always stand further on, and no content is many hops from the newest") {
  for (const uint32_t distance : {2u, 4u, 16u, 64u}) {
    const HopPolicy policy(distance);
    for (const uint32_t count : {2u, 17u, 100u, 1000u, 5000u}) {
      const auto base = bases_of_chain(policy, count);
      const double levels = std::ceil(std::log(count) / std::log(distance));
      const auto bound = static_cast<uint32_t>(2 * (distance - 1) * std::max(levels, 1.0));
      for (uint32_t i = 0; i + 1 < count; ++i) {
        REQUIRE(base[i] > i);
        REQUIRE(hops(base, i) <= bound);
      }
    }
  }
}

TEST_CASE("each level re-encodes its previous hop base") {
  const HopPolicy policy(4);
  CHECK(policy.re_encoded(3).empty());
  CHECK(policy.re_encoded(4) == std::vector<uint32_t>{0});
  CHECK(policy.re_encoded(8) == std::vector<uint32_t>{4});
  CHECK(policy.re_encoded(16) == std::vector<uint32_t>{12, 0});
  CHECK(policy.levels_known(0) == 1);
  CHECK(policy.levels_known(4) == 2);
  CHECK(policy.levels_known(16) == 3);
}

TEST_CASE("extra writes stay near N H / (H-1)^2") {
  const HopPolicy policy(16);
  size_t writes = 0;
  for (uint32_t i = 1; i < 100'000; ++i) writes += policy.re_encoded(i).size();
  CHECK(writes <= 100'000.0 * 16 / 225);
}

TEST_CASE("without a distance there are no hops") {
  CHECK(HopPolicy(0).re_encoded(16).empty());
  CHECK(HopPolicy(1).re_encoded(16).empty());
  CHECK(HopPolicy(0).levels_known(16) == 0);
}

TEST_CASE("above the highest level there are no further ones") {
  const HopPolicy policy(4, 2);
  CHECK(policy.re_encoded(64) == std::vector<uint32_t>{60, 48});
  CHECK(policy.levels(64) == 2);
  CHECK(policy.levels_known(1000) == 2);
}
