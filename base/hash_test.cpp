#include "base/hash.h"

#include <xxhash.h>
#include <catch2/catch.hpp>

#include "base/random.h"

TEST_CASE("a hash is XXH3 of any length, whatever vectors it is computed with") {
  base::Random random(1);
  base::Bytes bytes;
  for (size_t length = 0; length < 5000; length += length < 300 ? 1 : 1 + random.below(97)) {
    while (bytes.size() < length) bytes.push_back(static_cast<char>(random.below(256)));
    for (const uint64_t seed : {uint64_t{0}, random()})
      REQUIRE(base::hash64(bytes, seed) == XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed));
  }
  CHECK(base::hash64("") == 0x2d06800538d394c2ull);
  CHECK(base::checksum32("") == 0x38d394c2u);
}
