#include "dedup/delta.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "base/varint.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

const DeltaOptions every_method[] = {
    {.method = DeltaMethod::resync},
    {.method = DeltaMethod::anchors, .anchor_interval = 16},
    {.method = DeltaMethod::anchors, .anchor_interval = 64},
};

void holds_both_ways(BytesView source, BytesView target) {
  for (const auto& options : every_method) {
    const auto both = encode_two_way(source, target, options);
    REQUIRE(both);
    const auto made = dedup::apply(source, both->forward);
    RC_ASSERT(made.ok());
    RC_ASSERT(made.value() == target);
    const auto back = dedup::apply(target, both->backward);
    RC_ASSERT(back.ok());
    RC_ASSERT(back.value() == source);
  }
}

}  // namespace

TEST_CASE("a delta makes its target and, turned around, its source") {
  CHECK(rc::check("of edited texts", [](uint64_t seed) {
    base::Random random(seed);
    const Bytes source = prose(random, random.below(20'000));
    holds_both_ways(source, edited(random, source, random.below(12)));
  }));
  CHECK(rc::check("of any bytes", [](const std::string& source, const std::string& target) { holds_both_ways(source, target); }));
  CHECK(rc::check("of strangers", [](uint64_t seed) {
    base::Random random(seed);
    holds_both_ways(prose(random, random.below(5000)), prose(random, random.below(5000)));
  }));
  CHECK(rc::check("where everything looks alike", [](uint64_t seed) {
    base::Random random(seed);
    const uint64_t alphabet = 1 + random.below(3);
    holds_both_ways(random_bytes(random, random.below(3000), alphabet), random_bytes(random, random.below(3000), alphabet));
  }));
  CHECK(rc::check("of blocks in another order", [](uint64_t seed) {
    base::Random random(seed);
    std::vector<Bytes> blocks;
    for (int i = 0; i < 60; ++i) blocks.push_back(random_bytes(random, 16));
    Bytes source, target;
    for (const auto& block : blocks) source += block;
    for (int i = 0; i < 80; ++i) target += blocks[random.below(blocks.size())];
    holds_both_ways(source, target);
  }));
}

TEST_CASE("a small change is a small delta") {
  base::Random random(7);
  const Bytes source = prose(random, 16'000);
  Bytes target = source;
  target.replace(3000, 5, "hello");
  target.insert(9000, "some words more ");
  target.erase(12'000, 30);
  const auto both = encode_two_way(source, target);
  REQUIRE(both);
  CHECK(both->forward.size() < 60);
  CHECK(both->backward.size() < 70);
  const auto same = encode_two_way(source, source);
  CHECK(same->forward.size() < 10);
}

TEST_CASE("text that moved far is found") {
  base::Random random(8);
  const Bytes a = prose(random, 6000), b = prose(random, 6000);
  const auto delta = dedup::encode(a + b, b + a);
  REQUIRE(delta);
  CHECK(delta->size() < 40);
}

TEST_CASE("a search that finds too little is given up") {
  base::Random random(9);
  const Bytes source = random_bytes(random, 20'000), target = random_bytes(random, 20'000);
  for (DeltaOptions options : every_method) {
    options.literal_bytes_max = 10'000;
    CHECK_FALSE(dedup::encode(source, target, options));
  }
}

TEST_CASE("large contents of any kind take bounded work") {
  base::Random random(10);
  const Bytes noise = random_bytes(random, 2 << 20);
  Bytes permuted;
  for (size_t i = 0; i < noise.size() / 16; ++i) permuted += noise.substr(random.below(noise.size() / 16) * 16, 16);
  for (const Bytes& target : {noise, permuted, Bytes(2 << 20, '\0'), random_bytes(random, 2 << 20)}) {
    const auto both = encode_two_way(noise, target);
    CHECK(both.has_value() == (target != permuted));  // shreds are not worth the work
    if (!both) continue;
    CHECK(dedup::apply(noise, both->forward).value() == target);
    CHECK(dedup::apply(target, both->backward).value() == noise);
  }
}

TEST_CASE("a delta applied onto its source makes what it makes elsewhere") {
  Bytes spare;
  CHECK(rc::check("of edited text", [&](uint64_t seed) {
    base::Random random(seed);
    const Bytes source = prose(random, random.below(3000));
    Bytes target = edited(random, source, random.below(12));
    if (random.below(6) == 0)
      std::rotate(target.begin(), target.begin() + static_cast<ptrdiff_t>(random.below(target.size() + 1)), target.end());
    Bytes content = source;
    RC_ASSERT(!apply_onto(content, *dedup::encode(source, target), spare));
    RC_ASSERT(content == target);
  }));
  // Makes pieces that keep their order, of any length, each moved any way; a search for copies writes tamer ones.
  CHECK(rc::check("of pieces that stay in order", [&](uint64_t seed) {
    base::Random random(seed);
    const Bytes source = prose(random, 1 + random.below(400));
    Bytes target;
    std::vector<Copy> copies;
    for (size_t at = random.below(20); at < source.size(); at += random.below(30)) {
      target += prose(random, random.below(2) * random.below(40));
      const size_t bytes = 1 + random.below(std::min<size_t>(60, source.size() - at));
      copies.push_back({at, target.size(), bytes});
      target.append(source, at, bytes);
      at += bytes;
    }
    target += prose(random, random.below(9));
    Bytes content = source;
    RC_ASSERT(!apply_onto(content, write_delta(target, copies), spare));
    RC_ASSERT(content == target);
  }));
  CHECK(rc::check("damaged ones leave it as it was", [&](uint64_t seed) {
    base::Random random(seed);
    const Bytes source = prose(random, 500);
    Bytes delta = *dedup::encode(source, edited(random, source, 4));
    delta[random.below(delta.size())] = static_cast<char>(random.below(256));
    const auto made = dedup::apply(source, delta, {.output_bytes_max = 2000});
    Bytes content = source;
    RC_ASSERT(apply_onto(content, delta, spare, {.output_bytes_max = 2000}).has_value() == !made.ok());
    RC_ASSERT(content == (made.ok() ? made.value() : source));
  }));
}

TEST_CASE("damaged deltas are reported, not trusted") {
  CHECK(rc::check("of any bytes", [](const std::string& source, const std::string& delta) {
    const auto made = dedup::apply(source, delta, {.output_bytes_max = 1 << 16});
    if (made.ok()) RC_ASSERT(made.value().size() <= size_t{1} << 16);
  }));
  CHECK(rc::check("with bytes changed", [](uint64_t seed) {
    base::Random random(seed);
    const Bytes source = prose(random, 2000);
    const Bytes target = edited(random, source, 4);
    Bytes delta = *dedup::encode(source, target);
    for (uint64_t changes = 1 + random.below(3); changes > 0; --changes)
      delta[random.below(delta.size())] = static_cast<char>(random.below(256));
    const auto made = dedup::apply(source, delta, {.output_bytes_max = 4000});
    if (made.ok()) RC_ASSERT(made.value().size() <= 4000u);
    RC_ASSERT(makes(source, delta, target) == (made.ok() && made.value() == target));
    if (made.ok()) RC_ASSERT(makes(source, delta, made.value()));
  }));
  const auto code_of = [](BytesView source, const Bytes& delta) {
    return dedup::apply(source, delta, {.output_bytes_max = 1000}).failure().code;
  };
  const auto corrupt = base::ErrorCode::data_corruption_detected;
  Bytes copies_beyond{"\x08\x00\x08\x00", 4};
  CHECK(code_of("1234567", copies_beyond) == corrupt);
  CHECK(code_of("", "") == corrupt);
  CHECK(code_of("x", Bytes{"\x05\x00\x00\x00\x00\x00\x00", 7}) == corrupt);  // does nothing for ever
  CHECK(code_of("x", Bytes{"\x01\x01xy", 4}) == corrupt);
  Bytes bomb;
  base::append_varint(bomb, 1001);
  CHECK(code_of("x", bomb) == corrupt);
}

TEST_CASE("a delta says how long its target is") {
  CHECK(target_bytes(*dedup::encode("abc", "abcdef")) == 6u);
  CHECK_FALSE(target_bytes(""));
}

TEST_CASE("a backward delta that would not be worth it is not written, the forward one is") {
  CHECK(rc::check("of a part", [](uint64_t seed) {
    base::Random random(seed);
    const Bytes source = prose(random, 2000 + random.below(20'000));
    const Bytes target = edited(random, source.substr(random.below(source.size())), random.below(5));
    const auto whole = encode_two_way(source, target);
    const size_t most = random.below(source.size() + 20);
    const auto bounded = encode_two_way(source, target, {.backward_bytes_max = most});
    RC_ASSERT(whole && bounded);
    RC_ASSERT(bounded->forward == whole->forward);
    RC_ASSERT(bounded->backward == (whole->backward.size() <= most ? whole->backward : Bytes()));
  }));
}

TEST_CASE("what is found in a far larger source is found in spite of fewer places") {
  base::Random random(5);
  const Bytes source = random_bytes(random, 8 << 20);
  Bytes target;
  while (target.size() < (100 << 10)) target.append(source, random.below(source.size() - 4096), 4096);
  const auto delta = dedup::encode(source, target);
  REQUIRE(delta);
  CHECK(dedup::apply(source, *delta).value() == target);
  CHECK(delta->size() < target.size() / 4);
}
