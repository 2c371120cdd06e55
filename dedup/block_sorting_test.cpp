#include "dedup/block_sorting.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>

#include "dedup/suffix_array.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// Of all kinds: nothing, noise, few letters, prose, one byte, periods, copies.
Bytes some_text(base::Random& random, size_t bytes_max) {
  const size_t bytes = random.below(bytes_max + 1);
  switch (random.below(6)) {
    case 0: return random_bytes(random, bytes);
    case 1: return random_bytes(random, bytes, 1 + random.below(4));
    case 2: return prose(random, bytes);
    case 3: return Bytes(bytes, static_cast<char>(random.below(256)));
    case 4: {
      const Bytes period = random_bytes(random, 1 + random.below(9));
      Bytes text;
      while (text.size() < bytes) text += period;
      return text;
    }
    default: {
      const Bytes once = prose(random, bytes / 3);
      return once + edited(random, once, 5) + once;
    }
  }
}

}  // namespace

TEST_CASE("Suffixes are in their order") {
  rc::check([](uint64_t seed) {
    base::Random random(seed);
    const Bytes text = some_text(random, 400);
    std::vector<int32_t> expected(text.size());
    std::iota(expected.begin(), expected.end(), 0);
    const auto suffix = [&](int32_t at) { return BytesView(text).substr(static_cast<size_t>(at)); };
    std::sort(expected.begin(), expected.end(), [&](int32_t a, int32_t b) { return suffix(a) < suffix(b); });
    RC_ASSERT(suffix_array(text) == expected);
  });
}

TEST_CASE("What is sorted and packed comes back") {
  rc::check([](uint64_t seed) {
    base::Random random(seed);
    const Bytes text = some_text(random, 5000);
    const Bytes packed = sort_pack(text);
    RC_ASSERT(sort_unpack(packed, text.size()) == text);
    RC_ASSERT(sort_unpack(packed, text.size() + 1) == text);
    if (!text.empty()) RC_ASSERT(sort_unpack(packed, text.size() - 1) == std::nullopt);
    RC_ASSERT(packed.size() <= text.size() + text.size() / 20 + 40);
  });
}

TEST_CASE("Damaged packed texts are refused, or make texts that are no longer than allowed") {
  rc::check([](uint64_t seed) {
    base::Random random(seed);
    Bytes packed = sort_pack(some_text(random, 2000));
    switch (random.below(3)) {
      case 0: packed.resize(random.below(packed.size() + 1)); break;
      case 1: packed[random.below(packed.size())] ^= static_cast<char>(1 + random.below(255)); break;
      case 2: packed = random_bytes(random, random.below(200)); break;
    }
    const auto text = sort_unpack(packed, 3000);
    if (text) RC_ASSERT(text->size() <= 3000u);
  });
}

TEST_CASE("Bytes behind a packed text are refused") {
  base::Random random(1);
  const Bytes packed = sort_pack(prose(random, 1000));
  REQUIRE(sort_unpack(packed + Bytes(5, '\1'), 1000) == std::nullopt);
}

// Blocks of files lie in this form: other bytes are another format, and old directories can't be read.
TEST_CASE("A packed text is the same on every machine") {
  base::Random random(7);
  Bytes text = prose(random, 20'000);
  text += random_bytes(random, 3000);
  text.append(5000, 'a');
  text += text.substr(0, 2000);
  REQUIRE(base::checksum32(sort_pack(text)) == 0xcfdbd1ebu);
}

TEST_CASE("Prose that says things again takes less than a third") {
  base::Random random(3);
  const Bytes once = prose(random, 20'000);
  const Bytes text = once + edited(random, once, 40) + once + edited(random, once, 40);
  REQUIRE(sort_pack(text).size() * 3 < text.size());
}
