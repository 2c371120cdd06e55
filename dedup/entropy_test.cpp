#include "dedup/entropy.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <thread>

#include "base/varint.h"
#include "dedup/delta.h"
#include "dedup/delta_dictionary.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// The texts of one collection have the same phrases again and again.
Bytes phrases(base::Random& random, size_t bytes) {
  static const char* const parts[] = {
      "The quick brown fox ", "[[Category:Animals]]\n", "== See also ==\n",          "{{citation needed}} ",
      "jumps over ",          "the lazy dog. ",         "https://example.org/wiki/", "was born in 19"};
  Bytes text;
  while (text.size() < bytes) text += parts[random.below(8)];
  text.resize(bytes);
  return text;
}

Bytes some_delta(base::Random& random) {
  const Bytes source = prose(random, 3000);
  Bytes target = source;
  for (uint64_t edits = 1 + random.below(4); edits > 0; --edits)
    target.insert(random.below(target.size()), phrases(random, 60 + random.below(100)));
  return *dedup::encode(source, target);
}

Bytes dictionary_of(uint64_t seed) {
  DictionaryTrainer trainer(seed, {.dictionary_bytes = 4096, .samples_wanted = 400});
  base::Random random(seed);
  while (!trainer.ready()) trainer.see(some_delta(random));
  return trainer.train().value();
}

EntropyCoder coder_with(std::initializer_list<uint32_t> versions) {
  EntropyCoder coder;
  for (const uint32_t version : versions) REQUIRE_FALSE(coder.add_dictionary(version, dictionary_of(version)));
  return coder;
}

std::string why(const base::Result<Bytes>& result) {
  return result.ok() ? "ok" : result.failure().message;
}

}  // namespace

TEST_CASE("what is packed comes back, with a dictionary and without") {
  for (const auto& coder : {coder_with({}), coder_with({1}), coder_with({1, 2})}) {
    CHECK(rc::check([&](uint64_t seed) {
      base::Random random(seed);
      const Bytes delta = random.below(4) ? some_delta(random) : random_bytes(random, random.below(5000), 1 + random.below(256));
      const auto packed = coder.pack(delta);
      if (!packed) return;
      RC_ASSERT(packed->size() < delta.size());
      RC_ASSERT(EntropyCoder::version_of(*packed) == coder.version());
      const auto unpacked = coder.unpack(*packed, delta.size());
      RC_ASSERT(unpacked.ok());
      RC_ASSERT(unpacked.value() == delta);
      RC_ASSERT(!coder.unpack(*packed, delta.size() - 1).ok());
    }));
  }
}

TEST_CASE("a dictionary of the collection's deltas makes them smaller, and noise is left alone") {
  base::Random random(99);
  const EntropyCoder plain, trained = coder_with({1});
  size_t deltas = 0, without = 0, with = 0;
  for (int i = 0; i < 200; ++i) {
    const Bytes delta = some_delta(random);
    deltas += delta.size();
    without += plain.pack(delta).value_or(delta).size();
    with += trained.pack(delta).value_or(delta).size();
  }
  CHECK(with * 2 < deltas);
  CHECK(with < without * 3 / 4);
  CHECK_FALSE(trained.pack(random_bytes(random, 500)));
  CHECK_FALSE(trained.pack("short"));
  CHECK_FALSE(trained.pack(""));
}

TEST_CASE("each packed delta is unpacked by its own dictionary") {
  base::Random random(5);
  EntropyCoder coder = coder_with({3});
  const Bytes delta = some_delta(random);
  const Bytes old = coder.pack(delta).value();
  REQUIRE_FALSE(coder.add_dictionary(7, dictionary_of(70)));
  CHECK(coder.version() == 7);
  const Bytes now = coder.pack(delta).value();
  CHECK(EntropyCoder::version_of(old) == 3u);
  CHECK(EntropyCoder::version_of(now) == 7u);
  CHECK(coder.unpack(old, 1 << 20).value() == delta);
  CHECK(coder.unpack(now, 1 << 20).value() == delta);
  coder.drop_dictionary(3);
  CHECK_THAT(why(coder.unpack(old, 1 << 20)), Catch::Contains("no dictionary 3"));
  CHECK(coder.unpack(now, 1 << 20).value() == delta);
}

// A failed call once left its context bound to the last dictionary, which was then gone.
TEST_CASE("a delta that doesn't fit leaves nothing behind for the next dictionary") {
  base::Random random(6);
  const Bytes noise = random_bytes(random, 300), delta = some_delta(random);
  for (uint32_t version = 1; version < 4; ++version) {
    const EntropyCoder coder = coder_with({version});
    CHECK(coder.unpack(coder.pack(delta).value(), delta.size()).value() == delta);
    CHECK_FALSE(coder.pack(noise));
    CHECK_FALSE(coder.unpack(Bytes("\x01\x20\x05zzzzzz", 9), 100).ok());
  }
  const EntropyCoder plain;
  const Bytes repeats(1000, 'x');
  CHECK(plain.unpack(plain.pack(repeats).value(), 1000).value() == repeats);
}

TEST_CASE("bytes that are no dictionary are refused") {
  EntropyCoder coder = coder_with({1});
  const Bytes dictionary = dictionary_of(1);
  CHECK(coder.add_dictionary(0, dictionary));
  CHECK(coder.add_dictionary(1, dictionary));
  CHECK(coder.add_dictionary(2, "no dictionary at all"));
  CHECK(coder.add_dictionary(2, ""));
  CHECK(coder.add_dictionary(2, dictionary.substr(0, 20)));
  CHECK(coder.version() == 1);
  CHECK(coder.memory_bytes() > 4096);
}

TEST_CASE("damaged packed deltas are reported, not trusted") {
  const EntropyCoder coder = coder_with({1});
  CHECK(rc::check("of any bytes", [&](const std::string& packed) {
    const auto unpacked = coder.unpack(packed, 1 << 12);
    if (unpacked.ok()) RC_ASSERT(unpacked.value().size() <= size_t{1} << 12);
  }));
  CHECK(rc::check("with bytes changed", [&](uint64_t seed) {
    base::Random random(seed);
    const Bytes delta = some_delta(random);
    Bytes packed = coder.pack(delta).value();
    packed[random.below(packed.size())] ^= static_cast<char>(1 << random.below(8));
    if (random.below(4) == 0) packed.resize(random.below(packed.size()));
    const auto unpacked = coder.unpack(packed, delta.size());
    if (unpacked.ok()) RC_ASSERT(unpacked.value().size() <= delta.size());
  }));
  Bytes bomb;
  base::append_varint(bomb, 0);
  bomb += '\xe0';  // one segment, its length in eight bytes
  base::append_le(bomb, uint64_t{1} << 40);
  bomb += Bytes("\x01\x00\x00", 3);
  CHECK_THAT(why(coder.unpack(bomb, 1 << 20)), Catch::Contains("more than allowed"));
  CHECK_THAT(why(coder.unpack("", 1 << 20)), Catch::Contains("header"));
}

TEST_CASE("threads pack and unpack at the same time") {
  const EntropyCoder coder = coder_with({1});
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (uint64_t seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] {
      base::Random random(seed);
      for (int i = 0; i < 200; ++i) {
        const Bytes delta = some_delta(random);
        const auto packed = coder.pack(delta);
        if (packed && coder.unpack(*packed, delta.size()).value() != delta) ++wrong;
      }
    });
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}
