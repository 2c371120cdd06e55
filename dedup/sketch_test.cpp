#include "dedup/sketch.h"

#include <rapidcheck.h>
#include <algorithm>
#include <catch2/catch.hpp>

#include "dedup/chunker.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

uint32_t shared(const Features& a, const Features& b) {
  return static_cast<uint32_t>(std::count_if(a.begin(), a.end(), [&](uint32_t feature) { return b.contains(feature); }));
}

Options with(SketchMethod method) {
  Options options;
  options.sketch_method = method;
  return options;
}

const SketchMethod every_method[] = {SketchMethod::windows, SketchMethod::gear_chunks, SketchMethod::rabin_chunks};

}  // namespace

TEST_CASE("a revision shares features with what it was made from, a stranger none") {
  base::Random random(1);
  for (const auto method : every_method) {
    const Sketcher sketcher(with(method), 5);
    size_t missed = 0;
    for (int i = 0; i < 100; ++i) {
      const Bytes text = prose(random, 5000);
      const auto features = sketcher.sketch(1, text);
      CHECK(features.size() == Options{}.features_max);
      missed += shared(features, sketcher.sketch(1, edited(random, text, 3))) == 0;
      CHECK(shared(features, sketcher.sketch(1, prose(random, 5000))) == 0);
    }
    CHECK(missed <= 1);
  }
}

TEST_CASE("features belong to a collection and to a seed") {
  base::Random random(2);
  const Bytes text = prose(random, 5000);
  for (const auto method : every_method) {
    const Sketcher sketcher(with(method), 5), other_seed(with(method), 6);
    CHECK(sketcher.sketch(1, text) == sketcher.sketch(1, text));
    CHECK(shared(sketcher.sketch(1, text), sketcher.sketch(2, text)) == 0);
    CHECK(shared(sketcher.sketch(1, text), other_seed.sketch(1, text)) == 0);
  }
}

TEST_CASE("short contents have no features, monotonous ones at least one") {
  const Sketcher sketcher(Options{}, 5);
  CHECK(sketcher.sketch(1, "").empty());
  CHECK(sketcher.sketch(1, Bytes(Options{}.content_bytes_min - 1, 'x')).empty());
  CHECK_FALSE(sketcher.sketch(1, Bytes(100'000, 'x')).empty());
}

TEST_CASE("sketches are the same however wide the vectors are") {
  const auto kernels = window_kernels();
  REQUIRE(std::string(kernels.back().name) == "scalar");
  CHECK(rc::check([&](uint64_t seed) {
    base::Random random(seed);
    WindowHash hash{};
    for (auto& multiplier : hash.multipliers) multiplier = static_cast<uint32_t>(random()) | 1;
    hash.offset = static_cast<uint32_t>(random());
    Rankings rankings{};
    for (auto& multiplier : rankings.multipliers) multiplier = static_cast<uint32_t>(random()) | 1;
    for (auto& offset : rankings.offsets) offset = static_cast<uint32_t>(random());
    const uint32_t limit = random.below(2) ? UINT32_MAX : 1u << 27;
    const size_t edges[] = {0, 15, 16, 17, 511, 526, 527, 528, 1039, 1040};
    const size_t bytes = random.below(2) ? edges[random.below(std::size(edges))] : random.below(6000);
    const Bytes content = random.below(2) ? prose(random, bytes) : random_bytes(random, bytes, 1 + random.below(256));

    std::vector<uint32_t> expected;
    std::vector<std::pair<uint32_t, uint32_t>> expected_places;
    for (size_t at = 0; at + 16 <= bytes; ++at) {
      uint32_t one = hash.offset;
      for (size_t i = 0; i < 4; ++i) one += base::load_le<uint32_t>(content.data() + at + 4 * i) * hash.multipliers[i];
      if (one >= limit) continue;
      expected.push_back(one);
      expected_places.emplace_back(at, one);
    }
    std::sort(expected.begin(), expected.end());
    const auto first = kernels.back().first_ranked(expected, rankings);
    for (const WindowKernel& kernel : kernels) {
      WindowHashes found;
      kernel.window_hashes(content, hash, limit, found);
      RC_ASSERT(kernel.first_ranked(found.hashes, rankings) == first);
      std::vector<std::pair<uint32_t, uint32_t>> places;
      for (size_t i = 0; i < found.hashes.size(); ++i) places.emplace_back(found.positions[i], found.hashes[i]);
      std::sort(places.begin(), places.end());
      RC_ASSERT(places == expected_places);
      RC_ASSERT(Sketcher({}, seed, kernel).sketch(1, content) == Sketcher({}, seed, kernels.back()).sketch(1, content));
    }
  }));
}

TEST_CASE("the plain features are those of the smallest hashes of all windows") {
  // A short content and the same with a long strange tail share the smallest hashes of the short part.
  base::Random random(6);
  const Sketcher sketcher(Options{}, 5);
  size_t met = 0;
  for (int i = 0; i < 100; ++i) {
    const Bytes text = prose(random, 400);
    met += shared(sketcher.sketch(1, text), sketcher.sketch(1, text + prose(random, 150))) > 0;
  }
  CHECK(met >= 95);
}

// With so many equal windows, hardly one is among the few that are looked at first.
TEST_CASE("a text repeated often has the features of the text repeated once") {
  base::Random random(1);
  const Sketcher sketcher(Options{}, 5);
  for (const size_t bytes : {500, 4000, 30'000}) {
    const Bytes text = prose(random, bytes), twice = text + text;
    Bytes often;
    for (int i = 0; i < 50; ++i) often += text;
    const Features expected = sketcher.sketch(1, twice), features = sketcher.sketch(1, often);
    CHECK(std::equal(features.begin(), features.end(), expected.begin(), expected.end()));
  }
}

TEST_CASE("chunks cover the content within their bounds") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    const Bytes content = prose(random, random.below(20'000));
    for (const auto method : {ChunkMethod::gear, ChunkMethod::rabin})
      for (const uint32_t average : {64u, 1024u}) {
        size_t start = 0;
        for (const size_t end : cut(content, method, average)) {
          RC_ASSERT(end > start);
          RC_ASSERT(end - start <= 4 * average);
          RC_ASSERT(end - start >= average / 4 || end == content.size());
          start = end;
        }
        RC_ASSERT(start == content.size());
      }
  }));
}

TEST_CASE("chunk boundaries come back after an insertion") {
  base::Random random(4);
  const Bytes content = prose(random, 20'000);
  const Bytes longer = "inserted in front " + content;
  for (const auto method : {ChunkMethod::gear, ChunkMethod::rabin}) {
    const auto before = cut(content, method, 64), after = cut(longer, method, 64);
    size_t kept = 0;
    for (const size_t end : before) kept += std::binary_search(after.begin(), after.end(), end + longer.size() - content.size());
    CHECK(kept * 10 > before.size() * 9);
  }
}

TEST_CASE("many long strangers share no feature by chance") {
  base::Random random(7);
  const Sketcher sketcher(Options{}, 5);
  std::vector<uint32_t> all;
  for (int i = 0; i < 400; ++i) {
    const auto features = sketcher.sketch(1, random_bytes(random, 60'000));
    all.insert(all.end(), features.begin(), features.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}
