#include "dedup/writeback_cache.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "base/random.h"

using namespace dedup;

namespace {

Backward backward(int64_t target, int64_t base, size_t saved, size_t bytes = 10) {
  return {{1, target, 0}, {1, base, 0}, {}, {}, Bytes(bytes, 'd'), 1000, saved};
}

}  // namespace

TEST_CASE("what saves most is written first") {
  WritebackCache cache(1 << 20);
  cache.put(backward(1, 10, 300));
  cache.put(backward(2, 10, 900));
  cache.put(backward(3, 11, 600));
  const auto best = cache.take_best(2);
  REQUIRE(best.size() == 2);
  CHECK(best[0].target.record == 2);
  CHECK(best[1].target.record == 3);
  CHECK(cache.size() == 1);
}

TEST_CASE("a full cache loses what saves least, and counts it") {
  WritebackCache cache(10'000);
  for (int64_t i = 0; i < 20; ++i) cache.put(backward(i, 100, static_cast<size_t>(100 + i), 1000));
  CHECK(cache.bytes() <= 10'000);
  CHECK(cache.discarded() == 20 - cache.size());
  CHECK(cache.discarded_bytes() >= cache.discarded() * 100);
  CHECK(cache.take_best(1)[0].target.record == 19);
}

TEST_CASE("the write-back cache behaves like a plain map") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    WritebackCache cache(1 << 20);
    std::map<int64_t, std::pair<int64_t, size_t>> model;  // target -> base, saved
    for (int step = 0; step < 300; ++step) {
      const auto target = static_cast<int64_t>(random.below(20)), base = static_cast<int64_t>(20 + random.below(10));
      switch (random.below(4)) {
        case 0:
        case 1: {
          size_t saved = random.below(1000);
          cache.put(backward(target, base, saved));
          if (model.count(target)) saved = std::max(saved, model[target].second);
          model[target] = {base, saved};
          break;
        }
        case 2: {
          const auto id = static_cast<int64_t>(random.below(30));
          cache.invalidate({1, id, 0});
          std::erase_if(model, [&](const auto& entry) { return entry.first == id || entry.second.first == id; });
          break;
        }
        case 3:
          for (const auto& best : cache.take_best(random.below(3))) {
            RC_ASSERT(model.count(best.target.record) == 1u);
            RC_ASSERT(model[best.target.record] == std::pair(best.base.record, best.saved_bytes));
            for (const auto& [other, kept] : model) RC_ASSERT(kept.second <= best.saved_bytes);
            model.erase(best.target.record);
          }
      }
      RC_ASSERT(cache.size() == model.size());
      RC_ASSERT((cache.bytes() == 0) == model.empty());
    }
  }));
}

TEST_CASE("a dropped collection takes its entries along") {
  WritebackCache cache(1 << 20);
  cache.put(backward(1, 10, 300));
  Backward other = backward(1, 10, 300);
  other.target.collection = other.base.collection = 2;
  cache.put(other);
  cache.invalidate_collection(1);
  REQUIRE(cache.size() == 1);
  CHECK(cache.take_best(9)[0].target.collection == 2);
}
