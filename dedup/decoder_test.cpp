#include "dedup/decoder.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "dedup/delta.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// Makes random contents, each kept whole or against a random one of higher rank.
struct Forest {
  explicit Forest(uint64_t seed, size_t count) {
    base::Random random(seed);
    Bytes text = prose(random, 500 + random.below(2000));
    for (size_t i = 0; i < count; ++i) {
      text = edited(random, text, random.below(3));
      const ContentId id{1, static_cast<int64_t>(i / 2), i};
      contents[id] = text;
      records.insert(id, text);
    }
    for (auto target = contents.begin(); target != contents.end(); ++target) {
      auto base = std::next(target);
      for (uint64_t skip = random.below(4); skip > 0 && base != contents.end(); --skip) ++base;
      if (base == contents.end() || random.below(8) == 0) continue;
      records.write_back({target->first, base->first, {}, {}, *dedup::encode(base->second, target->second), 0, 0});
    }
  }
  std::map<ContentId, Bytes> contents;
  MemoryRecords records;
};

std::string why(const base::Result<Bytes>& result) {
  return result.ok() ? "ok" : result.failure().message;
}

}  // namespace

TEST_CASE("every content of a random forest of deltas decodes to what it was") {
  CHECK(rc::check([](uint64_t seed) {
    Forest forest(seed, 60);
    for (const auto& [id, content] : forest.contents) {
      const auto decoded = decode(id, forest.records);
      RC_ASSERT(decoded.ok());
      RC_ASSERT(decoded.value() == content);
    }
  }));
}

TEST_CASE("damage is found and named, whatever byte it hits") {
  CHECK(rc::check([](uint64_t seed) {
    Forest forest(seed, 20);
    base::Random random(seed + 1);
    auto victim = std::next(forest.records.forms.begin(), static_cast<ptrdiff_t>(random.below(20)));
    Bytes& bytes = victim->second.bytes;
    bytes[random.below(bytes.size())] ^= static_cast<char>(1 << random.below(8));
    for (const auto& [id, content] : forest.contents) {
      const auto decoded = decode(id, forest.records);
      if (decoded.ok()) {
        RC_ASSERT(decoded.value() == content);  // the damaged one isn't in its chain, or the damage has no effect
      } else {
        RC_ASSERT(decoded.failure().code == base::ErrorCode::data_corruption_detected);
        RC_ASSERT(decoded.failure().message.find(to_string(victim->first)) != std::string::npos);
      }
    }
  }));
}

TEST_CASE("a chain that goes in a circle is refused") {
  MemoryRecords records;
  const ContentId a{1, 1, 1}, b{1, 2, 1}, stranger{2, 3, 1};
  records.insert(a, "content a");
  records.insert(b, "content b");
  records.insert(stranger, "content c");
  records.write_back({a, b, {}, {}, *dedup::encode("content b", "content a"), 0, 0});
  CHECK(decode(a, records).value() == "content a");
  records.write_back({b, a, {}, {}, *dedup::encode("content a", "content b"), 0, 0});
  CHECK_THAT(why(decode(a, records)), Catch::Contains("does not rank above"));
  records.write_back({a, a, {}, {}, *dedup::encode("content a", "content a"), 0, 0});
  CHECK_THAT(why(decode(a, records)), Catch::Contains("does not rank above"));
  records.write_back({a, stranger, {}, {}, *dedup::encode("content c", "content a"), 0, 0});
  CHECK_THAT(why(decode(a, records)), Catch::Contains("does not rank above"));
}

TEST_CASE("a read's work is bounded in hops and bytes") {
  MemoryRecords records;
  const Bytes text(1000, 'x');
  for (int64_t i = 0; i < 100; ++i) records.insert({1, i, 0}, text);
  for (int64_t i = 0; i < 99; ++i) records.write_back({{1, i, 0}, {1, i + 1, 0}, {}, {}, *dedup::encode(text, text), 0, 0});
  DecodeStats stats;
  CHECK(decode({1, 0, 0}, records, {}, &stats).value() == text);
  CHECK(stats.hops == 99);
  CHECK_THAT(why(decode({1, 0, 0}, records, {.hops_max = 50})), Catch::Contains("too many hops"));
  CHECK(decode({1, 49, 0}, records, {.hops_max = 50}).ok());
  CHECK_THAT(why(decode({1, 0, 0}, records, {.chain_bytes_max = 900})), Catch::Contains("longer than a read may be"));
  CHECK_THAT(why(decode({1, 0, 0}, records, {.output_bytes_max = 999})), Catch::Contains("longer than allowed"));
}

TEST_CASE("what the store says passes through") {
  MemoryRecords records;
  CHECK(decode({1, 5, 5}, records).failure().code == base::ErrorCode::no_such_key);
}
