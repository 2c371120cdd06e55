#include "dedup/encoder.h"

#include <catch2/catch.hpp>
#include <rapidcheck.h>

#include "dedup/delta.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// A server in small: keeps what it is told to keep, follows the advice.
struct Server {
  explicit Server(const Options& options = {}) : options_(options) { restart(); }

  Encoding insert(const ContentId& id, const Bytes& content, Lineage lineage = no_lineage) {
    Encoding encoding = encoder->encode(id, content, records, lineage);
    follow(id, content, encoding);
    return encoding;
  }
  Encoding update(const ContentId& id, const Bytes& content, const ContentId& previous) {
    Encoding encoding = encoder->encode_successor(id, content, previous, contents.at(previous), placements.at(previous), records);
    follow(id, content, encoding);
    return encoding;
  }
  void follow(const ContentId& id, const Bytes& content, const Encoding& encoding) {
    records.insert(id, content);
    contents[id] = content;
    placements[id] = encoding.placement;
    if (encoding.source) {
      RC_ASSERT(dedup::apply(contents.at(*encoding.source), encoding.forward).value() == content);
    } else {
      RC_ASSERT(encoding.forward.empty());
    }
    for (const Backward& backward : encoding.write_backs) {
      RC_ASSERT(may_be_base(backward.base, backward.target));
      RC_ASSERT(backward.base == id || backward.target == id);
      RC_ASSERT((backward.base == id ? backward.base_placement : backward.target_placement) == encoding.placement);
      RC_ASSERT(backward.target_bytes == contents.at(backward.target).size());
      RC_ASSERT(dedup::apply(contents.at(backward.base), backward.delta).value() == contents.at(backward.target));
      records.write_back(backward);
    }
  }
  void all_read_back() {
    for (const auto& [id, content] : contents) {
      const auto decoded = decode(id, records);
      RC_ASSERT(decoded.ok());
      RC_ASSERT(decoded.value() == content);
    }
  }
  void restart() {
    if (encoder) encoder->flush();
    encoder = std::make_unique<Encoder>(options_, 42, pages);
    encoder->rebuild();
  }
  size_t logical_bytes() const {
    size_t bytes = 0;
    for (const auto& [id, content] : contents) bytes += content.size();
    return bytes;
  }

  const Options options_;
  MemoryPages pages;
  MemoryRecords records;
  std::unique_ptr<Encoder> encoder;
  std::map<ContentId, Bytes> contents;
  std::map<ContentId, Placement> placements;
};

ContentId content(int64_t record, uint64_t generation = 1, uint32_t collection = 1) { return {collection, record, generation}; }

}  // namespace

TEST_CASE("the newest of a chain stays whole and its predecessor becomes a delta") {
  Server server;
  base::Random random(1);
  const Bytes first = prose(random, 5000), second = edited(random, first, 2);
  CHECK(server.insert(content(1), first).outcome == Outcome::unique);
  const auto encoding = server.insert(content(2), second);
  CHECK(encoding.outcome == Outcome::encoded);
  CHECK(encoding.source == content(1));
  CHECK(encoding.placement == Placement{1, 1});
  REQUIRE(encoding.write_backs.size() == 1);
  CHECK(encoding.write_backs[0].target == content(1));
  CHECK(encoding.write_backs[0].saved_bytes > 4000);
  CHECK(server.records.forms.at(content(2)).raw);
  server.all_read_back();
}

TEST_CASE("whatever comes reads back, in every profile, across restarts") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    Options options = Options::of(static_cast<Profile>(random.below(3)));
    options.hop_distance = static_cast<uint32_t>(random.below(2) ? 4 : 16);
    options.source_cache_bytes = random.below(2) ? 20'000 : 1 << 20;
    Server server(options);
    std::vector<ContentId> known;
    for (int64_t record = 1; record < 150; ++record) {
      const auto id = content(record, 1 + random.below(3), static_cast<uint32_t>(1 + random.below(2)));
      const auto old = known.empty() ? id : known[random.below(std::min<size_t>(known.size(), 10))];
      Bytes bytes = known.empty() || random.below(6) == 0 ? prose(random, random.below(4000))
                                                          : edited(random, server.contents.at(old), random.below(4));
      if (!known.empty() && random.below(5) == 0) {
        const ContentId next{old.collection, old.record, old.generation + 10};
        if (server.contents.count(next)) continue;
        server.update(next, bytes, old);
        known.insert(known.begin(), next);
      } else {
        server.insert(id, bytes);
        known.insert(known.begin(), id);
      }
      if (random.below(10) == 0) server.encoder->forget(known[random.below(known.size())]);
      if (random.below(40) == 0) server.restart();
    }
    server.all_read_back();
  }));
}

TEST_CASE("a long chain is stored in little, and read in few hops") {
  Server server;
  base::Random random(2);
  Bytes text = prose(random, 5000);
  for (int64_t record = 1; record <= 700; ++record) {
    const auto id = content(record);
    text = edited(random, text, 1);
    const auto encoding = server.insert(id, text);
    if (record > 1) CHECK(encoding.placement == Placement{1, static_cast<uint32_t>(record - 1)});
    if (record == 400) server.restart();
  }
  server.all_read_back();
  CHECK(server.records.stored_bytes() * 15 < server.logical_bytes());
  uint32_t hops_most = 0;
  for (const auto& [id, bytes] : server.contents) {
    DecodeStats stats;
    decode(id, server.records, {}, &stats).value();
    hops_most = std::max(hops_most, stats.hops);
  }
  CHECK(hops_most <= 2 * 15 * 3);
  CHECK(hops_most < 100);
  CHECK(server.encoder->stats().hop_write_backs >= 300 / 16);  // since the restart
}

TEST_CASE("after a restart the same sources are found") {
  Server server;
  base::Random random(3);
  std::vector<Bytes> texts;
  for (int64_t i = 0; i < 300; ++i) {
    texts.push_back(prose(random, 2000));
    server.insert(content(i + 1), texts.back());
  }
  const auto before = server.encoder->stats();
  server.restart();
  CHECK(server.encoder->stats().live_entries == before.live_entries);
  for (int64_t i = 0; i < 300; ++i) {
    const auto encoding = server.insert(content(1000 + i), edited(random, texts[static_cast<size_t>(i)], 1));
    CHECK(encoding.source == content(i + 1));
  }
}

TEST_CASE("a text that was spoilt and restored costs little") {
  Server server;
  base::Random random(4);
  const Bytes good = prose(random, 8000);
  const Bytes spoilt = good.substr(0, 3000) + prose(random, 500);
  server.insert(content(1), good);
  server.insert(content(2), spoilt);
  server.insert(content(3), good);
  server.all_read_back();
  // The text once, and the spoilt one, from which too much is missing for a delta.
  CHECK(server.records.stored_bytes() < 8000 + 3500 + 200);
}

TEST_CASE("collections don't meet") {
  Server server;
  base::Random random(5);
  const Bytes text = prose(random, 5000);
  server.insert(content(1, 1, 1), text);
  CHECK(server.insert(content(2, 1, 2), text).outcome == Outcome::unique);
  CHECK(server.insert(content(3, 1, 1), text).source == content(1, 1, 1));
}

TEST_CASE("a content of lower rank than its source is never its base") {
  Server server;
  base::Random random(6);
  const Bytes text = prose(random, 5000);
  server.insert(content(9), text);
  const auto encoding = server.insert(content(8), edited(random, text, 1));
  CHECK(encoding.source == content(9));
  REQUIRE(encoding.write_backs.size() == 1);
  CHECK(encoding.write_backs[0].target == content(8));
  CHECK(encoding.write_backs[0].base == content(9));
  CHECK(server.insert(content(10), edited(random, text, 1)).source == content(9));
  server.all_read_back();
  CHECK(server.records.stored_bytes() < 6000);
}

TEST_CASE("a content that is shown again changes nothing") {
  Server server;
  base::Random random(12);
  Bytes text = prose(random, 5000);
  for (int64_t record = 1; record <= 3; ++record) server.insert(content(record), text = edited(random, text, 1));
  const auto before = server.encoder->stats();
  for (const bool restart : {false, true}) {
    if (restart) server.restart();
    const auto again = server.encoder->encode(content(3), text, server.records);
    CHECK(again.placement == Placement{1, 2});
    CHECK(again.write_backs.empty());
    CHECK(server.encoder->stats().live_entries == before.live_entries);
  }
  CHECK(server.insert(content(4), edited(random, text, 1)).placement == Placement{1, 3});
}

TEST_CASE("an update goes on with its record's chain") {
  Server server;
  base::Random random(7);
  Bytes text = prose(random, 5000);
  server.insert(content(1, 1), text);
  for (uint64_t generation = 2; generation <= 40; ++generation) {
    text = edited(random, text, 1);
    const auto encoding = server.update(content(1, generation), text, content(1, generation - 1));
    CHECK(encoding.source == content(1, generation - 1));
    CHECK(encoding.placement == Placement{1, static_cast<uint32_t>(generation - 1)});
  }
  server.all_read_back();
  CHECK(server.encoder->stats().hop_write_backs > 0);
  CHECK(server.records.stored_bytes() < 12'000);
}

TEST_CASE("what is forgotten or gone is not offered") {
  Server server;
  base::Random random(8);
  const Bytes text = prose(random, 5000);
  server.insert(content(1), text);
  server.encoder->forget(content(1));
  CHECK(server.insert(content(2), text).outcome == Outcome::unique);
  server.encoder->forget_collection(1);
  CHECK(server.insert(content(3), text).outcome == Outcome::unique);
  // Gone without a word, and not in the cache after a restart.
  server.restart();
  server.records.forms.erase(content(3));
  server.contents.erase(content(3));
  CHECK(server.insert(content(4), text).outcome == Outcome::unique);
  CHECK(server.encoder->stats().sources_gone == 1);
}

TEST_CASE("small contents, strangers and disabled databases go whole") {
  base::Random random(9);
  Server server;
  CHECK(server.insert(content(1), "tiny").outcome == Outcome::filtered);
  CHECK(server.insert(content(2), "").outcome == Outcome::filtered);
  CHECK(server.insert(content(3), prose(random, 3000)).outcome == Outcome::unique);
  Options off;
  off.enabled = false;
  Server disabled(off);
  CHECK(disabled.insert(content(1), prose(random, 3000)).outcome == Outcome::disabled);
  CHECK_FALSE(disabled.encoder->stats().enabled);
}

TEST_CASE("the governor frees the index of a database that gains nothing") {
  Options options;
  options.governor_window = 300;
  options.governor_probe_contents = 20;
  Server server(options);
  base::Random random(10);
  int64_t record = 0;
  for (int i = 0; i < 300; ++i) server.insert(content(++record), random_bytes(random, 500));
  CHECK_FALSE(server.encoder->stats().enabled);
  CHECK(server.encoder->stats().index_bytes == 0);
  CHECK(server.encoder->stats().live_entries == 0);
  CHECK(server.pages.kept.empty());
  CHECK(server.encoder->stats().governor.reason == GovernorReason::ratio_too_low);
  CHECK(server.encoder->stats().governor.ratio < 1.1);
  CHECK(server.encoder->stats().governor.contents_until_judged == 300);
  size_t tried = 0;
  while (server.encoder->stats().contents < 600)
    tried += server.insert(content(++record), random_bytes(random, 500)).outcome != Outcome::disabled;
  CHECK(tried < 60);
  CHECK_FALSE(server.encoder->stats().enabled);
  // The workload changes: a probe notices, because some chains are in it whole.
  std::vector<Bytes> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(prose(random, 2000));
  for (size_t i = 0; i < 300; ++i) server.insert(content(++record), texts[i % 100] = edited(random, texts[i % 100], 1));
  CHECK(server.encoder->stats().enabled);
  CHECK(server.encoder->stats().governor.reason == GovernorReason::came_back);
  server.all_read_back();
}

TEST_CASE("the index grows with what it holds and stays under its cap") {
  Options options;
  options.index_bytes_max = 60'000;
  Server server(options);
  base::Random random(11);
  for (int64_t record = 1; record < 3000; ++record) {
    server.encoder->encode(content(record), prose(random, 200), server.records);
    REQUIRE(server.encoder->stats().index_bytes <= 60'000 + 48);
  }
  CHECK(server.encoder->stats().live_entries == 2999);
  const Bytes text = prose(random, 2000);
  server.insert(content(5000), text);
  CHECK(server.insert(content(5001), edited(random, text, 1)).outcome == Outcome::encoded);
}

TEST_CASE("a declared lineage keeps the newest of each whole", "[encoder]") {
  base::Random random(5);
  Server server;
  // Two pages with one text: bytes alone would take them for versions of one thing.
  const Bytes text = prose(random, 4000);
  Bytes first = text, second = text;
  int64_t record = 0;
  ContentId newest_first{}, newest_second{};
  for (int round = 0; round < 20; ++round) {
    first.replace(random.below(3000), 3, prose(random, 5));
    second.replace(random.below(3000), 3, prose(random, 5));
    server.insert(newest_first = content(++record), first, 11);
    server.insert(newest_second = content(++record), second, 22);
  }
  server.all_read_back();
  CHECK(server.records.fetch_form(newest_first).value().raw);
  CHECK(server.records.fetch_form(newest_second).value().raw);
  size_t whole = 0;
  for (int64_t at = 1; at <= record; ++at) whole += server.records.fetch_form(content(at)).value().raw;
  CHECK(whole == 2);
}

TEST_CASE("a lineage finds its predecessor where likeness would not", "[encoder]") {
  base::Random random(6);
  Server server;
  const Bytes text = prose(random, 3000);
  server.insert(content(1), text, 7);
  for (int64_t record = 2; record < 200; ++record) server.insert(content(record), text + prose(random, 50), 1000 + record);
  const Bytes changed = text + "the end";
  const auto encoding = server.insert(content(200), changed, 7);
  REQUIRE(encoding.source.has_value());
  CHECK(*encoding.source == content(1));
  CHECK(encoding.placement == Placement{1, 1});
  server.restart();
  const auto next = server.insert(content(201), changed + "!", 7);
  CHECK(next.source == content(200));
}
