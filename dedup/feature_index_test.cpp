#include "dedup/feature_index.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <rapidcheck.h>

#include "base/random.h"

using namespace dedup;

namespace {

bool leads_to(const FeatureIndex& index, uint32_t feature, uint32_t pointer) {
  std::vector<FeatureMatch> matches;
  index.find(feature, 100, matches);
  return std::any_of(matches.begin(), matches.end(), [&](const auto& match) { return match.pointer == pointer; });
}

}  // namespace

TEST_CASE("while there is room the index finds all that a multimap finds, and hardly more") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    FeatureIndex index(seed);
    index.reset(2400);
    std::multimap<uint32_t, uint32_t> model;
    std::map<uint32_t, bool> known;
    for (uint32_t i = 1; i <= 1600; ++i) {
      const auto feature = static_cast<uint32_t>(random.below(1000) * 4294967);
      if (model.count(feature) == 6) continue;
      index.put(feature, i);
      model.emplace(feature, i);
      known[i] = true;
    }
    RC_ASSERT(index.used() == model.size());
    size_t found = 0;
    for (const auto& [feature, pointer] : model) RC_ASSERT(leads_to(index, feature, pointer));
    for (auto feature = model.begin(); feature != model.end(); feature = model.upper_bound(feature->first)) {
      std::vector<FeatureMatch> matches;
      index.find(feature->first, 100, matches);
      found += matches.size();
      for (const auto& match : matches) RC_ASSERT(known.count(match.pointer) == 1u);
    }
    RC_ASSERT(found <= model.size() + 100);  // a false match is rare, but may be of a feature with many entries
  }));
}

TEST_CASE("an index that is too full forgets but never invents") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    FeatureIndex index(seed);
    index.reset(200);
    std::multimap<uint32_t, uint32_t> model;
    for (uint32_t i = 1; i <= 1000; ++i) {
      const auto feature = static_cast<uint32_t>(random());
      index.put(feature, i);
      model.emplace(feature, i);
      RC_ASSERT(leads_to(index, feature, i));
    }
    RC_ASSERT(index.used() <= index.capacity());
    size_t remembered = 0;
    for (const auto& [feature, pointer] : model) remembered += leads_to(index, feature, pointer);
    RC_ASSERT(remembered >= 150u);
    RC_ASSERT(remembered <= index.capacity() + 20);
  }));
}

TEST_CASE("an entry can be led elsewhere in place") {
  FeatureIndex index(1);
  index.reset(100);
  index.put(77, 5);
  std::vector<FeatureMatch> matches;
  index.find(77, 8, matches);
  REQUIRE(matches.size() == 1);
  index.overwrite(matches[0].bucket, 6);
  CHECK(leads_to(index, 77, 6));
  CHECK_FALSE(leads_to(index, 77, 5));
  CHECK(index.used() == 1);
}

TEST_CASE("an index without room finds and keeps nothing") {
  FeatureIndex index(1);
  index.put(1, 1);
  CHECK_FALSE(leads_to(index, 1, 1));
  CHECK(index.memory_bytes() == 0);
}
