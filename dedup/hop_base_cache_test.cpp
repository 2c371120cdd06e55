#include "dedup/hop_base_cache.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

#include "dedup/decoder.h"
#include "dedup/delta.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

ContentId version(uint64_t generation) {
  return {1, 1, generation};
}

// A document's versions stand in hops: every fourth is based on the fourth after it, every sixteenth on the sixteenth after.
struct History {
  static constexpr uint64_t newest = 64;

  explicit History(uint64_t seed) {
    base::Random random(seed);
    Bytes text = prose(random, 8000);
    for (uint64_t i = 1; i <= newest; ++i) {
      text = edited(random, text, 3);
      contents[version(i)] = text;
      records.insert(version(i), text);
    }
    for (uint64_t i = 1; i < newest; ++i) base_on(i, std::min(newest, i + (i % 16 == 0 ? 16 : i % 4 == 0 ? 4 : 1)));
  }
  void base_on(uint64_t target, uint64_t base) {
    const Bytes &from = contents.at(version(base)), &to = contents.at(version(target));
    records.write_back({version(target), version(base), {}, {}, *dedup::encode(from, to), 0, 0});
  }

  std::map<ContentId, Bytes> contents;
  MemoryRecords records;
};

// Counts the contents that are fetched.
struct Counted : FormSource {
  explicit Counted(FormSource& of) : forms(of) {}
  base::Result<StoredForm> fetch_form(const ContentId& id) override {
    ++fetched;
    return forms.fetch_form(id);
  }
  FormSource& forms;
  size_t fetched = 0;
};

}  // namespace

TEST_CASE("a neighbour's read begins at the cached hop base, and reports as many hops as without the cache") {
  History history(1);
  HopBaseCache cache(1 << 20);
  Counted counted(history.records);
  DecodeStats first, plain, again;
  CHECK(decode(version(1), counted, {}, &first, &cache).value() == history.contents.at(version(1)));
  CHECK(cache.bytes() > 7000);
  const size_t all = std::exchange(counted.fetched, 0);
  CHECK(decode(version(2), counted, {}, &again, &cache).value() == history.contents.at(version(2)));
  CHECK(counted.fetched < all / 2);
  CHECK(cache.hits() == 1);
  CHECK(decode(version(2), history.records, {}, &plain).value() == history.contents.at(version(2)));
  CHECK(again.hops == plain.hops);
  CHECK(again.chain_bytes <= plain.chain_bytes);
}

TEST_CASE("with a cache of any size everything reads as without one") {
  CHECK(rc::check([](uint64_t seed) {
    History history(seed);
    base::Random random(seed + 1);
    HopBaseCache cache(random.below(2) ? random.below(200'000) : 1 << 20);
    for (int i = 0; i < 200; ++i) {
      const ContentId id = version(1 + random.below(History::newest));
      DecodeStats with, without;
      RC_ASSERT(decode(id, history.records, {}, &with, &cache).value() == history.contents.at(id));
      RC_ASSERT(decode(id, history.records, {}, &without).value() == history.contents.at(id));
      RC_ASSERT(with.hops == without.hops);
      if (random.below(50) == 0) cache.set_bytes_max(random.below(200'000));
    }
    cache.set_bytes_max(0);
    RC_ASSERT(cache.bytes() == 0u);
    RC_ASSERT(decode(version(1), history.records, {}, nullptr, &cache).value() == history.contents.at(version(1)));
    RC_ASSERT(cache.bytes() == 0u);
  }));
}

TEST_CASE("a wrong one is noticed, forgotten, and doesn't make a content wrong") {
  History history(2);
  HopBaseCache cache(1 << 20);
  REQUIRE(decode(version(1), history.records, {}, nullptr, &cache));
  REQUIRE(cache.bytes() > 0);
  // It doesn't matter which one was kept.
  for (const auto& [id, content] : history.contents)
    if (cache.find(id)) cache.put(id, {Bytes(content.size(), 'x'), 1, 1});
  auto wrong = decode(version(2), history.records, {}, nullptr, &cache);
  REQUIRE_FALSE(wrong);
  CHECK(wrong.failure().code == base::ErrorCode::data_corruption_detected);
  CHECK(cache.bytes() == 0);
  CHECK(decode(version(2), history.records, {}, nullptr, &cache).value() == history.contents.at(version(2)));
}

TEST_CASE("a damaged base is not kept") {
  History history(3);
  HopBaseCache cache(1 << 20);
  Bytes& whole = history.records.forms.at(version(History::newest)).bytes;
  for (char& c : whole) c ^= 1;
  CHECK_FALSE(decode(version(1), history.records, {}, nullptr, &cache));
  CHECK(cache.bytes() == 0);
}

TEST_CASE("many read at once") {
  History history(4);
  HopBaseCache cache(100'000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (uint64_t i = 0; i < 4; ++i) {
    readers.emplace_back([&, i] {
      base::Random random(i);
      // MemoryRecords are only read.
      for (int n = 0; n < 1000; ++n) {
        const ContentId id = version(1 + random.below(History::newest));
        auto content = decode(id, history.records, {}, nullptr, &cache);
        wrong += !content || *content != history.contents.at(id);
        if (random.below(100) == 0) cache.set_bytes_max(random.below(200'000));
      }
    });
  }
  for (auto& reader : readers) reader.join();
  CHECK(wrong == 0);
  CHECK(cache.hits() > 0);
  cache.set_bytes_max(0);
  CHECK(cache.bytes() == 0);
}
