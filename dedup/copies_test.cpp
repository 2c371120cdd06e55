#include "dedup/copies.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <map>

#include "dedup/rolling_hash.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// This is Algorithm 4, line by line.
std::vector<Copy> algorithm_4(BytesView source, BytesView target, uint64_t interval) {
  constexpr size_t window = 16;
  static constexpr RabinTables rabin(window);
  const auto hash_at = [&](BytesView bytes, size_t at) {
    uint64_t hash = 0;
    for (size_t i = 0; i < window; ++i) hash = rabin.push(hash, static_cast<uint8_t>(bytes[at + i]));
    return hash;
  };
  const auto is_anchor = [&](uint64_t hash) { return (hash & (interval - 1)) == interval - 1; };

  std::map<uint64_t, size_t> index;
  for (size_t i = 0; i + window <= source.size(); ++i)
    if (const uint64_t hash = hash_at(source, i); is_anchor(hash)) index[hash] = i;

  std::vector<Copy> copies;
  size_t position = 0;
  for (size_t j = 0; j + window <= target.size();) {
    const uint64_t hash = hash_at(target, j);
    const auto found = is_anchor(hash) ? index.find(hash) : index.end();
    if (found == index.end()) {
      ++j;
      continue;
    }
    size_t s = found->second, t = j, end = j;
    while (s + (end - j) < source.size() && end < target.size() && source[s + (end - j)] == target[end]) ++end;
    while (s > 0 && t > position && source[s - 1] == target[t - 1]) --s, --t;
    if (end - t < 8) {  // shorter copies are inserts
      ++j;
      continue;
    }
    copies.push_back({s, t, end - t});
    position = j = end;
  }
  return copies;
}

bool same(const std::vector<Copy>& a, const std::vector<Copy>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Copy& x, const Copy& y) {
    return x.source_at == y.source_at && x.target_at == y.target_at && x.bytes == y.bytes;
  });
}

void are_copies(BytesView source, BytesView target, const std::vector<Copy>& copies) {
  size_t covered = 0;
  for (const Copy& copy : copies) {
    RC_ASSERT(copy.target_at >= covered);
    RC_ASSERT(copy.bytes > 0u);
    RC_ASSERT(source.substr(copy.source_at, copy.bytes) == target.substr(copy.target_at, copy.bytes));
    covered = copy.target_at + copy.bytes;
  }
  RC_ASSERT(covered <= target.size());
}

struct Texts {
  Bytes source, target;
};

// Makes edited texts, records, repetitions and strangers.
Texts some_texts(base::Random& random) {
  switch (random.below(4)) {
    case 0: {
      const Bytes source = prose(random, random.below(60'000));
      return {source, edited(random, source, random.below(20))};
    }
    case 1: {
      std::vector<Bytes> records;
      for (uint64_t i = 10 + random.below(200); i > 0; --i)
        records.push_back("{\"name\":\"" + prose(random, random.below(9)) +
                          "\",\"kind\":\"record\",\"count\":" + std::to_string(random.below(999)) + ",\"tags\":[]},\n");
      Texts texts;
      for (const auto& record : records) texts.source += record;
      for (uint64_t changes = random.below(6); changes > 0; --changes) {
        const size_t at = random.below(records.size());
        if (random.below(2))
          records.erase(records.begin() + static_cast<ptrdiff_t>(at));
        else
          records.insert(records.begin() + static_cast<ptrdiff_t>(at), records[random.below(records.size())]);
        if (records.empty()) break;
      }
      for (const auto& record : records) texts.target += record;
      return texts;
    }
    case 2: {
      const uint64_t alphabet = 1 + random.below(3);
      return {random_bytes(random, random.below(9000), alphabet), random_bytes(random, random.below(9000), alphabet)};
    }
    default: return {random_bytes(random, random.below(9000)), random_bytes(random, random.below(9000))};
  }
}

}  // namespace

TEST_CASE("anchors find what Algorithm 4 finds") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    const auto [source, target] = some_texts(random);
    const uint32_t interval = 16u << random.below(4);
    const auto found = find_copies_by_anchors(source, target, {.method = DeltaMethod::anchors, .anchor_interval = interval});
    RC_ASSERT(found.has_value());
    RC_ASSERT(same(*found, algorithm_4(source, target, interval)));
    are_copies(source, target, *found);
  }));
}

TEST_CASE("both methods make the same target, by other copies") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    const auto [source, target] = some_texts(random);
    for (const auto& options : {DeltaOptions{}, DeltaOptions{.method = DeltaMethod::anchors, .anchor_interval = 16}}) {
      const auto copies = find_copies(source, target, options);
      if (!copies) continue;  // shreds
      are_copies(source, target, *copies);
      RC_ASSERT(dedup::apply(source, write_delta(target, *copies)).value() == target);
      const auto back = turned_around(*copies);
      are_copies(target, source, back);
      RC_ASSERT(dedup::apply(target, write_delta(source, back)).value() == source);
    }
  }));
}

TEST_CASE("every width of vectors makes the same deltas") {
  const AgreeKernels fastest = agree_fastest;
  CHECK(rc::check([&](uint64_t seed) {
    base::Random random(seed);
    const auto [source, target] = some_texts(random);
    std::optional<std::optional<Bytes>> first;
    for (const AgreeKernels& kernels : agree_kernels()) {
      agree_fastest = kernels;
      const auto delta = dedup::encode(source, target);
      if (!first) first = delta;
      RC_ASSERT(delta == *first);
    }
  }));
  agree_fastest = fastest;
}

// The nearest place that looks alike was taken once, and everything after it was out of step.
TEST_CASE("an entry inserted into a list of similar entries costs no more than its own bytes") {
  base::Random random(1);
  const auto entry = [&] {
    return "{\"version\":\"" + std::to_string(random.below(100)) +
           "\",\"support\":\"yes\",\"usage_global\":" + std::to_string(random.below(100'000)) +
           ",\"notes\":\"\",\"partial\":false},";
  };
  Bytes front, back;
  for (int i = 0; i < 60; ++i) front += entry(), back += entry();
  const Bytes added = entry();
  const Bytes inserted = *dedup::encode(front + back, front + added + back);
  const Bytes erased = *dedup::encode(front + added + back, front + back);
  CHECK(inserted.size() < 50);
  CHECK(erased.size() < 20);
}

TEST_CASE("a passage from elsewhere is found between two that stayed") {
  base::Random random(2);
  const Bytes a = prose(random, 8000), moved = prose(random, 400), b = prose(random, 8000);
  const auto delta = *dedup::encode(moved + a + b, moved + a + moved + b);
  CHECK(delta.size() < 30);
}

TEST_CASE("documents of many megabytes take bounded work, whatever is in them") {
  constexpr size_t bytes = 6 << 20;
  base::Random random(3);
  Bytes noise(bytes, '\0');
  for (size_t i = 0; i < bytes; i += 8) base::store_le(noise.data() + i, random());
  Bytes blocks, every_12th = noise;
  for (size_t i = 0; i < bytes / 64; ++i) blocks.append(noise, random.below(bytes / 64) * 64, 64);
  for (size_t i = 0; i < bytes; i += 12) every_12th[i] ^= 1;
  Bytes edits = noise;
  for (int i = 0; i < 50; ++i) edits.replace(random.below(edits.size()), 5, "changed");
  Bytes zeros(bytes, '\0');
  for (const Bytes* target : {&blocks, &every_12th, &edits, &zeros}) {
    const auto both = encode_two_way(noise, *target);
    REQUIRE(both);
    CHECK(dedup::apply(noise, both->forward).value() == *target);
    CHECK(dedup::apply(*target, both->backward).value() == noise);
    if (target == &blocks) CHECK(both->forward.size() < bytes / 5);
    if (target == &edits) CHECK(both->forward.size() < 50 * 20 + 100);
  }
}

TEST_CASE("bytes that are all alike, whether each or none of them is an anchor") {
  // All windows of these bytes have one hash.
  for (int byte = 0; byte < 256; ++byte) {
    const Bytes source(20'000, static_cast<char>(byte));
    const auto delta = dedup::encode(source, source + "x", {.method = DeltaMethod::anchors, .anchor_interval = 16});
    REQUIRE(delta);
    CHECK(dedup::apply(source, *delta).value() == source + "x");
  }
}
