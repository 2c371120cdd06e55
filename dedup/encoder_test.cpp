#include "dedup/encoder.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "dedup/delta.h"
#include "dedup/feature_index.h"
#include "dedup/test_support.h"

using namespace dedup;
using namespace dedup::test;

namespace {

// A small server keeps what the encoder advises it to keep.
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

ContentId content(int64_t record, uint64_t generation = 1, uint32_t collection = 1) {
  return {collection, record, generation};
}

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

TEST_CASE("advice says whether a source was the best, the best for being cached, or what was left") {
  base::Random random(11);
  const Bytes text = prose(random, 8000);
  enum class Given { nothing, reward, gone };
  const auto advice = [&](Given given) {
    Options options;
    options.cache_reward = given == Given::reward ? 100 : 0;
    Server server(options);
    server.insert(content(1), text.substr(0, 6000));
    server.encoder->distrust_cache();
    server.insert(content(2), text.substr(6000));
    if (given == Given::gone) server.records.forms.erase(content(1));
    const auto write_backs = server.encoder->encode(content(3), text, server.records).write_backs;
    REQUIRE(write_backs.size() == 1);
    return std::pair(write_backs[0].target.record, write_backs[0].choice);
  };
  CHECK(advice(Given::nothing) == std::pair(int64_t{1}, Choice::match));
  CHECK(advice(Given::reward) == std::pair(int64_t{2}, Choice::cached));
  CHECK(advice(Given::gone) == std::pair(int64_t{2}, Choice::tried));
}

TEST_CASE("for an update nothing is looked for, nor for a hop base") {
  Server server;
  base::Random random(12);
  Bytes text = prose(random, 5000);
  server.insert(content(1), text);
  for (uint64_t generation = 2; generation < 20; ++generation) {
    text = edited(random, text, 1);
    for (const auto& write_back : server.update(content(1, generation), text, content(1, generation - 1)).write_backs)
      CHECK(write_back.choice == Choice::given);
  }
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
  CHECK(server.encoder->stats().hop_write_backs >= 300 / 16);  // those since the restart
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
  // It keeps the text once, and the spoilt one, which lacks too much for a delta.
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
  // The content is gone without notice, and not in the cache after a restart.
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
  // The workload changes: a probe notices, because some chains are in it whole. In none
  // of its turns does a chain come twice.
  std::vector<Bytes> texts;
  for (int i = 0; i < 100; ++i) texts.push_back(prose(random, 2000));
  // It notices in the second window at the latest: one in twenty draws of the first has none of the hundred chains.
  for (size_t i = 0; i < 600 && !server.encoder->stats().enabled; ++i)
    server.insert(content(++record), texts[i % 100] = edited(random, texts[i % 100], 1));
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
  // Two pages have one text: by their bytes alone they would be versions of one thing.
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

TEST_CASE("contents of declared lineages leave few features in the index, and are found by strangers all the same", "[encoder]") {
  constexpr int64_t lineages = 300, versions = 20;
  base::Random random(8);
  Server server;
  std::vector<Bytes> texts;
  for (int64_t i = 0; i < lineages; ++i) texts.push_back(prose(random, 2000));
  int64_t record = 0;
  for (int64_t version = 0; version < versions; ++version) {
    for (int64_t i = 0; i < lineages; ++i) {
      Bytes& text = texts[static_cast<size_t>(i)];
      server.insert(content(++record), text = edited(random, text, 1), 1000 + static_cast<Lineage>(i));
    }
  }
  const auto stats = server.encoder->stats();
  CHECK(stats.index_records == lineages * versions);
  // Those of the newest of each chain count, and of the 2,048 last that were superseded.
  CHECK(stats.index_live_bytes <= (lineages + 2048) * 4 * FeatureIndex::entry_bytes);
  int64_t found = 0;
  for (int64_t i = 0; i < lineages; ++i) {
    const auto encoding =
        server.insert(content(++record), edited(random, texts[static_cast<size_t>(i)], 1), 100'000 + static_cast<Lineage>(i));
    found += encoding.source.has_value() && encoding.forward.size() < 500;
  }
  CHECK(found >= lineages * 95 / 100);
}

namespace {

// Inserts a chain of `count` versions.
std::vector<Bytes> insert_versions(Server& server, base::Random& random, int64_t first, int64_t count,
                                   Lineage lineage = no_lineage) {
  std::vector<Bytes> versions{prose(random, 4000)};
  for (int64_t i = 1; i < count; ++i) versions.push_back(edited(random, versions.back(), 1));
  for (int64_t i = 0; i < count; ++i) server.insert(content(first + i), versions[static_cast<size_t>(i)], lineage);
  return versions;
}

uint32_t hops_most(Server& server) {
  uint32_t most = 0;
  for (const auto& [id, bytes] : server.contents) {
    DecodeStats stats;
    decode(id, server.records, {}, &stats).value();
    most = std::max(most, stats.hops);
  }
  return most;
}

size_t whole(Server& server) {
  size_t count = 0;
  for (const auto& [id, form] : server.records.forms) count += form.raw;
  return count;
}

}  // namespace

TEST_CASE("each encoding scheme keeps its promise of Table 4.1", "[encoder]") {
  constexpr int64_t versions = 130;
  for (const auto scheme : {EncodingScheme::backward, EncodingScheme::version_jumping, EncodingScheme::hop}) {
    Options options;
    options.encoding = scheme;
    options.hop_distance = 16;
    Server server(options);
    base::Random random(20);
    insert_versions(server, random, 1, versions);
    server.all_read_back();
    switch (scheme) {
      case EncodingScheme::backward:
        CHECK(hops_most(server) == versions - 1);
        CHECK(whole(server) == 1);
        break;
      case EncodingScheme::version_jumping:
        CHECK(hops_most(server) == 15);
        CHECK(whole(server) == 1 + versions / 16);
        break;
      case EncodingScheme::hop: CHECK(hops_most(server) <= 2 * 15 * 2); CHECK(whole(server) == 1);
    }
  }
}

TEST_CASE("options change while contents come, and what is kept still reads back", "[encoder]") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    Server server;
    std::vector<Bytes> texts;
    for (int i = 0; i < 5; ++i) texts.push_back(prose(random, 1000 + random.below(3000)));
    for (int64_t record = 1; record < 200; ++record) {
      Bytes& text = texts[random.below(texts.size())];
      server.insert(content(record), text = edited(random, text, random.below(3)));
      if (random.below(15)) continue;
      Options options = Options::of(static_cast<Profile>(random.below(3)));
      options.encoding = static_cast<EncodingScheme>(random.below(3));
      options.hop_distance = static_cast<uint32_t>(2 + random.below(20));
      options.features_max = static_cast<uint32_t>(1 + random.below(16));
      options.source_cache_bytes = random.below(2) ? 0 : 1 << 20;
      options.index_bytes_max = (4 << 10) + random.below(30'000);
      options.enabled = random.below(5) > 0;
      server.encoder->set_options(options);
      RC_ASSERT(server.encoder->options().features_max == options.features_max);
      RC_ASSERT(server.encoder->stats().index_bytes <= options.index_bytes_max + 48);
    }
    server.all_read_back();
  }));
}

TEST_CASE("only options that change the features forget the index", "[encoder]") {
  Server server;
  base::Random random(21);
  const Bytes text = prose(random, 4000);
  server.insert(content(1), text);
  Options options;
  options.hop_distance = 64;
  options.worth_percent = 50;
  options.index_layout = IndexLayout::published;
  options.index_bytes_per_record = 0;
  server.encoder->set_options(options);
  CHECK(server.insert(content(2), edited(random, text, 1)).source == content(1));
  options.sketch_method = SketchMethod::gear_chunks;
  server.encoder->set_options(options);
  CHECK(server.encoder->stats().live_entries == 0);
  CHECK(server.insert(content(3), edited(random, text, 1)).outcome == Outcome::unique);
  CHECK(server.insert(content(4), edited(random, text, 1)).source == content(3));
}

TEST_CASE("options out of their ranges are refused by name", "[encoder]") {
  for (const auto profile : {Profile::balanced, Profile::thesis, Profile::archive}) CHECK(validate(Options::of(profile)).ok());
  const auto refused = [](const char* name, auto change) {
    Options options;
    change(options);
    const auto result = validate(options);
    REQUIRE_FALSE(result.ok());
    CHECK(result.failure().code == base::ErrorCode::bad_value);
    CHECK(result.failure().message.find(name) == 0);
    MemoryPages pages;
    Encoder encoder(Options{}, 1, pages);
    CHECK_THROWS_AS(encoder.set_options(options), base::OperationError);
  };
  refused("features_max", [](Options& o) { o.features_max = 0; });
  refused("features_max", [](Options& o) { o.features_max = 17; });
  refused("chunk_bytes", [](Options& o) { o.chunk_bytes = 100; });
  refused("hop_distance", [](Options& o) { o.hop_distance = 1; });
  refused("anchor_interval", [](Options& o) { o.anchor_interval = 24; });
  refused("worth_percent", [](Options& o) { o.worth_percent = 101; });
  refused("sources_tried", [](Options& o) { o.sources_tried = 9; });
  refused("governor_ratio_min", [](Options& o) { o.governor_ratio_min = 0.5; });
  refused("index_bytes_per_record", [](Options& o) { o.index_layout = IndexLayout::published; });
}

TEST_CASE("the index keeps twelve bytes of each of many strangers, and finds the late and the old ones", "[encoder]") {
  constexpr int64_t count = 24'000;
  Server server;
  base::Random random(22);
  std::vector<Bytes> texts;
  for (int64_t record = 1; record <= count; ++record) {
    texts.push_back(prose(random, 400));
    server.encoder->encode(content(record), texts.back(), server.records);
    server.records.insert(content(record), texts.back());
  }
  const auto stats = server.encoder->stats();
  CHECK(stats.index_records == count);
  CHECK(stats.index_live_bytes <= count * 12);
  CHECK(stats.index_thinned > count * 4 / 5);
  CHECK(stats.index_bytes < count * 20);
  for (const bool restart : {false, true}) {
    if (restart) server.restart();
    size_t found = 0;
    int64_t record = restart ? 60'000 : 50'000;
    for (size_t i = restart ? 200 : 0; i < count; i += 400) {
      const auto encoding = server.encoder->encode(content(++record), texts[i] + prose(random, 60), server.records);
      found += encoding.source == content(static_cast<int64_t>(i) + 1);
    }
    CHECK(found >= 57);
  }
}

TEST_CASE("contents lose features by degrees, the older ones first, and a small index loses none", "[encoder]") {
  Server server;
  base::Random random(24);
  std::vector<Bytes> texts;
  const auto insert_until = [&](size_t count) {
    while (texts.size() < count) {
      texts.push_back(prose(random, 400));
      const ContentId id = content(static_cast<int64_t>(texts.size()));
      server.encoder->encode(id, texts.back(), server.records);
      server.records.insert(id, texts.back());
    }
  };
  insert_until(3000);
  CHECK(server.encoder->stats().index_thinned == 0);
  CHECK(server.encoder->stats().index_live_bytes == 3000 * 12 * FeatureIndex::entry_bytes);
  // There is room for seven or eight features each, except that the latest keep all; none is down to two.
  insert_until(5000);
  CHECK(server.encoder->stats().index_thinned > 3000);
  server.encoder->flush();
  std::map<size_t, size_t> kept;
  MetadataLog log(server.pages, 8 << 20);
  log.for_each_live(MetadataLog::Order::oldest_first,
                    [&](MetadataPointer, const MetadataLog::Entry& entry) { ++kept[entry.features.size()]; });
  CHECK(kept.begin()->first >= 6);
  CHECK(kept.rbegin()->first == 12);
}

TEST_CASE("a secondary that only observes finds the same sources once it encodes", "[encoder]") {
  base::Random random(23);
  Server primary;
  MemoryPages pages;
  Encoder secondary({}, 42, pages);
  std::vector<Bytes> texts;
  for (int i = 0; i < 10; ++i) texts.push_back(prose(random, 3000));
  int64_t record = 0;
  for (; record < 400; ++record) {
    Bytes& text = texts[random.below(texts.size())];
    text = edited(random, text, 1);
    const auto encoding = primary.insert(content(record + 1), text);
    CHECK(secondary.observe(content(record + 1), text, encoding.source) == encoding.placement);
  }
  CHECK(secondary.stats().observed == 400);
  CHECK(secondary.stats().live_entries == primary.encoder->stats().live_entries);
  CHECK(secondary.stats().source_fetches + secondary.stats().source_hits == 0);
  // After a fail-over it continues where the primary was, with its hop bases.
  for (; record < 500; ++record) {
    Bytes& text = texts[random.below(texts.size())];
    text = edited(random, text, 1);
    const auto there = primary.insert(content(record + 1), text);
    const auto here = secondary.encode(content(record + 1), text, primary.records);
    CHECK(here.source == there.source);
    CHECK(here.placement == there.placement);
    CHECK(here.write_backs.size() == there.write_backs.size());
  }
}

TEST_CASE("cold heads are demoted onto newer ones, no deeper than allowed, and come back", "[encoder]") {
  base::Random random(24);
  Server server;
  const Bytes text = prose(random, 4000);
  // These are pages of their own with much in common.
  std::vector<Bytes> texts;
  for (int64_t record = 1; record <= 5; ++record) {
    texts.push_back(text + prose(random, 100));
    server.insert(content(record), texts.back(), static_cast<Lineage>(record));
  }
  REQUIRE(whole(server) == 5);
  const auto demote = [&](int64_t record) {
    auto advice = server.encoder->demote(content(record), texts[static_cast<size_t>(record) - 1],
                                         server.placements.at(content(record)), server.records);
    if (advice) {
      CHECK(advice->target == content(record));
      CHECK(may_be_base(advice->base, advice->target));
      CHECK(server.records.forms.at(advice->base).raw);
      server.records.write_back(*advice);
    }
    return advice.has_value();
  };
  CHECK_FALSE(demote(5));  // nothing ranks above it
  CHECK(demote(1));
  CHECK_FALSE(demote(1));  // it is no head any more
  for (int64_t record = 2; record <= 4; ++record) demote(record);
  server.all_read_back();
  CHECK(whole(server) < 5);
  CHECK(hops_most(server) <= Options{}.demotion_depth_max);
  server.restart();
  CHECK_FALSE(demote(1));  // that is remembered
  server.encoder->promote(content(1));
  CHECK(server.encoder->stats().promoted == 1);
  CHECK(demote(1));
  // A version of a demoted head continues its chain.
  CHECK(server.insert(content(9), texts[0] + "!", 1).placement == Placement{1, 1});
  server.all_read_back();
}

TEST_CASE("where sources are encoded again, a lineage that goes back and forth keeps its bound of hops", "[encoder]") {
  const auto property = [](uint64_t seed) {
    base::Random random(seed);
    Options options = Options::of(Profile::thesis);
    options.hop_distance = static_cast<uint32_t>(3 + random.below(6));
    options.size_filter_always = false;
    Server server(options);
    constexpr int64_t versions = 200;
    DeltaOptions delta;
    delta.method = options.delta_method;
    delta.anchor_interval = options.anchor_interval;
    std::vector<Bytes> history{prose(random, 2000 + random.below(2000))};
    std::vector<int64_t> heads;
    for (int64_t record = 1; record <= versions; ++record) {
      server.insert(content(record), history.back(), 1);
      const auto worth_it = [&](int64_t head) {
        const Bytes& newest = server.contents.at(content(head));
        return encode_two_way(newest, history.back(), delta).value().backward.size() <= newest.size();
      };
      const Placement placement = server.placements.at(content(record));
      if (placement.ordinal > 0) {
        const auto before = std::find_if(heads.begin(), heads.end(), [&](int64_t head) {
          return server.placements.at(content(head)) == (Placement{placement.chain, placement.ordinal - 1});
        });
        RC_ASSERT((before != heads.end() && worth_it(*before)));
        *before = record;
      } else {
        // A chain begins only where a head was tried and has too little in common.
        RC_ASSERT((placement == Placement{record, 0}));
        RC_ASSERT((heads.empty() || !std::all_of(heads.begin(), heads.end(), worth_it)));
        heads.push_back(record);
      }
      // It is often a version of an older one, which it resembles the most.
      const Bytes& from = random.below(2) ? history.back() : history[random.below(history.size())];
      history.push_back(edited(random, from, 1 + random.below(3)));
      if (random.below(60) == 0) server.restart();
    }
    server.all_read_back();
    size_t levels = 0;
    for (size_t reach = 1; reach < versions; reach *= options.hop_distance) ++levels;
    RC_ASSERT(hops_most(server) <= 2 * (options.hop_distance - 1) * levels);
    RC_ASSERT(whole(server) == heads.size());
  };
  CHECK(rc::check(property));
  CHECK_NOTHROW(property(8041559358));  // two features have one checksum and one slot
  CHECK_NOTHROW(property(14506));       // the newest has too little in common with the one before
}

TEST_CASE("hop bases of higher levels stay in the cache until they are wanted", "[encoder]") {
  Options options;
  options.hop_distance = 4;
  Server server(options);
  base::Random random(25);
  insert_versions(server, random, 1, 200);
  CHECK(server.encoder->stats().hop_write_backs > 50);
  CHECK(server.encoder->stats().source_fetches == 0);
  server.all_read_back();
}
