#include "dedup/source_selector.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "base/random.h"

using namespace dedup;

namespace {

Candidate candidate(int64_t record, uint32_t shared, bool cached = false, bool superseded = false) {
  return {.pointer = static_cast<MetadataPointer>(record),
          .id = {1, record, 1},
          .placement = {},
          .shared = shared,
          .cached = cached,
          .superseded = superseded,
          .kin = true,
          .named = false,
          .delta_bytes = 0,
          .demoted_below = 0};
}

int64_t first(std::vector<Candidate> candidates, const Options& options) {
  rank(candidates, options);
  return candidates.front().id.record;
}

}  // namespace

TEST_CASE("what has most in common is tried first, and being cached or a head counts for some of it") {
  Options options;
  options.cache_reward = 2;
  options.head_reward = 1;
  CHECK(first({candidate(1, 5), candidate(2, 4)}, options) == 1);
  CHECK(first({candidate(1, 5), candidate(2, 4, true)}, options) == 2);
  CHECK(first({candidate(1, 6), candidate(2, 4, true)}, options) == 2);  // among equals the later one
  CHECK(first({candidate(1, 7), candidate(2, 4, true)}, options) == 1);
  CHECK(first({candidate(1, 5, false, true), candidate(2, 5)}, options) == 2);
  CHECK(first({candidate(1, 7, false, true), candidate(2, 5)}, options) == 1);
}

TEST_CASE("a source counts as chosen for the cache if another one would be first without it") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    Options options;
    options.cache_reward = static_cast<uint32_t>(random.below(4));
    std::vector<Candidate> ranked;
    for (uint64_t i = 0; i <= random.below(6); ++i)
      ranked.push_back(
          candidate(static_cast<int64_t>(i) + 1, 1 + static_cast<uint32_t>(random.below(6)), random.below(2), random.below(2)));
    Options without = options;
    without.cache_reward = 0;
    const int64_t otherwise = first(ranked, without);
    rank(ranked, options);
    RC_ASSERT(choice_of(ranked, 0, options) == (ranked[0].id.record == otherwise ? Choice::match : Choice::cached));
    for (size_t i = 1; i < ranked.size(); ++i) RC_ASSERT(choice_of(ranked, i, options) == Choice::tried);
  }));
}
