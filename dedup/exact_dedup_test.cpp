#include "dedup/exact_dedup.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

TEST_CASE("exact dedup gives every content back, and finds what repeats") {
  for (const auto& [average, method] :
       {std::pair{64u, ChunkMethod::rabin}, {64u, ChunkMethod::gear}, {4096u, ChunkMethod::rabin}}) {
    rc::check("contents come back", [average = average, method = method](uint64_t seed) {
      base::Random random(seed);
      ExactDedup dedup(average, method);
      std::vector<Bytes> contents;
      Bytes text = prose(random, random.below(20'000));
      for (int i = 0; i < 8; ++i) {
        contents.push_back(random.below(5) ? text : random_bytes(random, random.below(3000), 3));
        dedup.add(contents.back());
        text = edited(random, std::move(text), 1 + random.below(4));
      }
      uint64_t bytes = 0;
      for (size_t i = 0; i < contents.size(); ++i) {
        RC_ASSERT(dedup.content(i) == contents[i]);
        bytes += contents[i].size();
      }
      RC_ASSERT(dedup.stats().content_bytes == bytes);
    });
  }
}

TEST_CASE("a copy costs exact dedup a few bytes, a changed byte a chunk") {
  base::Random random(1);
  const Bytes text = prose(random, 50'000);
  ExactDedup dedup(64);
  const size_t whole = dedup.add(text).size();
  REQUIRE(whole <= text.size() + 16);
  const uint64_t unique = dedup.stats().unique_chunks;
  REQUIRE(dedup.index_bytes() == unique * 28);
  REQUIRE(dedup.add(text).size() <= 16);
  REQUIRE(dedup.stats().unique_chunks == unique);
  Bytes changed = text;
  changed[25'000] = '#';
  REQUIRE(dedup.add(changed).size() < 600);
  REQUIRE(dedup.stats().unique_chunks > unique);
  REQUIRE(dedup.stats().unique_chunks <= unique + 3);
}

TEST_CASE("exact dedup of nothing is nothing") {
  ExactDedup dedup(64);
  REQUIRE(dedup.add("").empty());
  REQUIRE(dedup.content(0).empty());
}
