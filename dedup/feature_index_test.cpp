#include "dedup/feature_index.h"

#include <rapidcheck.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/random.h"

using namespace dedup;

namespace {

constexpr IndexLayout both[] = {IndexLayout::two_slots, IndexLayout::published};

bool leads_to(const FeatureIndex& index, uint32_t feature, uint32_t pointer) {
  const FeatureMatches matches = index.find(feature, FeatureMatches::max);
  return std::any_of(matches.begin(), matches.end(), [&](const auto& match) { return match.pointer == pointer; });
}

}  // namespace

TEST_CASE("while there is room the index finds all that a multimap finds, and hardly more") {
  for (const auto layout : both) {
    CHECK(rc::check([&](uint64_t seed) {
      base::Random random(seed);
      FeatureIndex index(seed, layout);
      index.reset(2400);
      std::multimap<uint32_t, uint32_t> model;
      for (uint32_t i = 1; i <= 1600; ++i) {
        const auto feature = static_cast<uint32_t>(random.below(1000) * 4294967);
        if (model.count(feature) == 6) continue;
        RC_ASSERT(!index.put(feature, i));
        model.emplace(feature, i);
      }
      RC_ASSERT(index.used() == model.size());
      size_t found = 0;
      for (const auto& [feature, pointer] : model) RC_ASSERT(leads_to(index, feature, pointer));
      for (auto feature = model.begin(); feature != model.end(); feature = model.upper_bound(feature->first)) {
        const FeatureMatches matches = index.find(feature->first, FeatureMatches::max);
        found += matches.size();
        for (const auto& match : matches) RC_ASSERT(match.pointer >= 1u && match.pointer <= 1600u);
      }
      RC_ASSERT(found <= model.size() + 100);  // a false match is rare, but may belong to a feature with many entries
    }));
  }
}

TEST_CASE("two slots hold 95 of 100 buckets, and what is erased is gone") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    FeatureIndex index(seed);
    const uint32_t count = 800 + static_cast<uint32_t>(random.below(20'000));
    index.reset(count * 100 / 95);
    std::map<uint32_t, uint32_t> model;
    for (uint32_t i = 1; i <= count; ++i) {
      const auto feature = static_cast<uint32_t>(random());
      if (model.emplace(feature, i).second) RC_ASSERT(!index.put(feature, i));
    }
    RC_ASSERT(index.used() == model.size());
    for (auto entry = model.begin(); entry != model.end();) {
      RC_ASSERT(leads_to(index, entry->first, entry->second));
      if (random.below(2)) {
        RC_ASSERT(index.erase(entry->first, entry->second));
        RC_ASSERT(!index.erase(entry->first, entry->second));
        RC_ASSERT(!leads_to(index, entry->first, entry->second));
        entry = model.erase(entry);
      } else {
        ++entry;
      }
    }
    for (const auto& [feature, pointer] : model) RC_ASSERT(leads_to(index, feature, pointer));
    RC_ASSERT(index.used() == model.size());
  }));
}

TEST_CASE("an index that is too full gives back a victim for each that it takes, and never invents") {
  for (const auto layout : both) {
    CHECK(rc::check([&](uint64_t seed) {
      base::Random random(seed);
      FeatureIndex index(seed, layout);
      index.reset(200);
      std::map<uint32_t, uint32_t> put;  // pointer, feature
      size_t victims = 0;
      for (uint32_t i = 1; i <= 1000; ++i) {
        const auto feature = static_cast<uint32_t>(random());
        const auto victim = index.put(feature, i);
        put[i] = feature;
        if (victim) {
          ++victims;
          RC_ASSERT(put.count(victim->pointer) == 1u);
          RC_ASSERT(index.checksum(put.at(victim->pointer)) == victim->checksum);
          RC_ASSERT(!leads_to(index, put.at(victim->pointer), victim->pointer));
          put.erase(victim->pointer);
        }
      }
      RC_ASSERT(index.used() == 1000 - victims);
      RC_ASSERT(index.used() <= index.capacity());
      RC_ASSERT(index.used() * 100 >= index.capacity() * 90);
      for (const auto& [pointer, feature] : put) RC_ASSERT(leads_to(index, feature, pointer));
    }));
  }
}

TEST_CASE("an entry can be led elsewhere in place") {
  for (const auto layout : both) {
    FeatureIndex index(1, layout);
    index.reset(100);
    index.put(77, 5);
    const FeatureMatches matches = index.find(77, 8);
    REQUIRE(matches.size() == 1);
    index.overwrite(matches[0].bucket, 6);
    CHECK(leads_to(index, 77, 6));
    CHECK_FALSE(leads_to(index, 77, 5));
    CHECK(index.used() == 1);
  }
}

TEST_CASE("an entry that two features led to is cleared once, and counted once") {
  FeatureIndex index(1);
  index.reset(100);
  index.put(77, 5);
  index.put(78, 6);
  const FeatureMatches matches = index.find(77, 8);
  REQUIRE(matches.size() == 1);
  index.clear(matches[0].bucket);
  index.clear(matches[0].bucket);
  CHECK_FALSE(leads_to(index, 77, 5));
  CHECK(index.used() == 1);
}

TEST_CASE("matches come in the order in which they were put, as published") {
  FeatureIndex index(3, IndexLayout::published);
  index.reset(400);
  base::Random random(3);
  for (uint32_t i = 1; i <= 300; ++i) index.put(i % 30 == 0 ? 9 : static_cast<uint32_t>(random()), i);
  const FeatureMatches matches = index.find(9, FeatureMatches::max);
  CHECK(matches.size() == 10);
  CHECK(std::is_sorted(matches.begin(), matches.end(), [](const auto& a, const auto& b) { return a.pointer < b.pointer; }));
}

TEST_CASE("an index without room finds and keeps nothing") {
  FeatureIndex index(1);
  CHECK_FALSE(index.put(1, 1));
  CHECK_FALSE(leads_to(index, 1, 1));
  CHECK_FALSE(index.erase(1, 1));
  CHECK(index.memory_bytes() == 0);
}
