// These tests step the background's tasks one by one: no thread runs, and the clock stands still.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/background/dedup_background.h"
#include "storage/collections/past_catalog.h"
#include "storage/collections/stored_catalog.h"
#include "storage/collections/write_observer.h"
#include "storage/contents/contents.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/directory.h"
#include "storage/format/page_compressor.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;
using namespace std::chrono_literals;

namespace {

constexpr Round under_load{}, idle{.idle = true}, quiet{.idle = true, .quiet = true};

// This is a store without the background's thread: a test calls the tasks instead.
struct Standing final : WriteObserver {
  explicit Standing(const std::string& profile = "balanced")
      : settings{.profile = profile},
        compressors(prepared(directory.path()), page_layout(profile).settled_level),
        engine(engine_options(), {.extension = compressors.registering(), .table_gone = {}}),
        contents(engine, compressors, profile),
        past_catalog(engine),
        stored_catalog(contents, past_catalog),
        background(contents, catalog, settings) {
    stored_catalog.set_write_observer(this);
    CollectionOptions options;
    options.document = bson::json("{dedup: {key: 'page'}}");
    options.dedup = read_dedup_options(options.document);
    collection = catalog.create("wiki.pages", options);
  }
  ~Standing() override { stored_catalog.set_write_observer(nullptr); }

  static std::string prepared(const std::string& path) {
    prepare_directory(path);
    return path;
  }
  EngineOptions engine_options() {
    EngineOptions options = test_options(directory.path());
    options.clock = &clock;
    return options;
  }

  bool listens() const override { return true; }
  bool wants(const Collection& of, size_t bytes) const override { return background.wants(of, bytes); }
  void written(const std::shared_ptr<Collection>& in, RecordId id, Stamp generation, Stamp previous, bool previous_is_base,
               std::optional<Bytes> content) override {
    background.push(in, {.collection = in->id(),
                         .record = id,
                         .generation = generation,
                         .previous = previous,
                         .previous_is_base = previous_is_base,
                         .content = std::move(content)});
  }
  void removed(const std::shared_ptr<Collection>& in, RecordId id, Stamp generation) override {
    background.push(in, {.kind = DedupWork::Kind::removed, .collection = in->id(), .record = id, .previous = generation});
  }
  void dropped(const std::shared_ptr<Collection>& which) override { background.dropped(which->id()); }

  // This function inserts versions of one page.
  void insert(int versions, int64_t page = 1) {
    for (int i = 0; i < versions; ++i) {
      std::string& text = texts[page];
      if (shared.empty()) shared = words(random, 3000);
      text = text.empty() ? shared + words(random, 200) : edited(random, text);
      bson::Builder builder;
      builder.append("_id", next_id++).append("page", page).append("text", text);
      const auto made = builder.done();
      const RecordId record =
          in_transaction(engine, [&](Transaction& transaction) { return collection->insert(transaction, made).id; });
      records.emplace_back(record, made);
    }
  }
  void remove_last(int versions) {
    for (int i = 0; i < versions; ++i) {
      const auto [record, made] = records.back();
      records.pop_back();
      in_transaction(engine,
                     [&, id = record, &was = made](Transaction& transaction) { collection->remove(transaction, id, was); });
    }
  }
  static void exhaust(Task& task, const Round& round) {
    while (task.step(round)) {
    }
  }
  // Encodes the contents that were inserted, and writes the deltas back.
  void encode() {
    exhaust(background.encode, under_load);
    exhaust(background.flush, idle);
  }
  bool is_whole(RecordId record) {
    Transaction transaction(engine, Transaction::Mode::read);
    return find_row(state().chains.tables(), transaction, record)->row.form == RecordRow::Form::raw;
  }
  RecordStore::State& state() { return collection->records().state(); }
  DedupFigures& counts() { return background.published.counts(); }

  base::testing::StoppedClock clock;
  TemporaryDirectory directory;
  DedupSettings settings;
  PageCompressors compressors;
  Engine engine;
  Contents contents;
  PastCatalog past_catalog;
  StoredCatalog stored_catalog;
  Catalog& catalog = stored_catalog;
  DedupBackground background;
  std::shared_ptr<Collection> collection;
  base::Random random{1};
  std::string shared;
  std::map<int64_t, std::string> texts;
  std::vector<std::pair<RecordId, bson::Document>> records;
  int64_t next_id = 1;
};

}  // namespace

TEST_CASE("what was encoded is written back once no burst is on") {
  Standing store;
  store.insert(20);
  CHECK(store.background.encode.waiting().count == 20);
  Standing::exhaust(store.background.encode, under_load);
  CHECK(store.background.queue_figures().records == 0);
  CHECK(store.background.write_backs.size() > 10);
  CHECK_FALSE(store.background.flush.step(under_load));
  CHECK(store.background.flush.step(idle));
  Standing::exhaust(store.background.flush, idle);
  CHECK(store.background.write_backs.size() == 0);
  CHECK(store.background.figures().write_back.written > 10);
  CHECK(store.state().chains.counters().get().stubs > 10);
}

TEST_CASE("under load the write-back cache is written when it is half full") {
  Standing store;
  auto options = store.background.options.get();
  options.writeback_cache_bytes = 4 << 10;
  store.background.options.set(options);
  CHECK_FALSE(store.background.take_options.step(under_load));
  store.insert(64);
  Standing::exhaust(store.background.encode, under_load);
  CHECK(store.counts().write_back.written > 0);
}

TEST_CASE("contents that were not queued are read through once dedup is on") {
  Standing store;
  store.background.options.set_enabled(false);
  store.insert(30);
  CHECK(store.background.encode.waiting().count == 0);
  CHECK(store.background.catch_up.waiting().behind);
  CHECK_FALSE(store.background.catch_up.step(under_load));
  store.background.options.set_enabled(true);
  CHECK(store.background.catch_up.step(under_load));
  Standing::exhaust(store.background.catch_up, under_load);
  CHECK_FALSE(store.background.catch_up.waiting().behind);
  CHECK(store.counts().caught_up == 30);
  CHECK(store.background.write_backs.size() > 20);
}

TEST_CASE("the place is saved every ten seconds under load, and at once in quiet times") {
  Standing store;
  const auto saved = [&] {
    const auto state = store.background.state.collection(store.collection->id());
    return state ? state->encoded : 0;
  };
  store.clock.advance(1h);
  store.insert(1);
  store.encode();
  store.background.save.step(under_load);
  REQUIRE(saved() == store.records.back().first);

  store.insert(1);
  store.encode();
  store.clock.advance(9s);
  store.background.save.step(under_load);
  CHECK(saved() < store.records.back().first);
  store.clock.advance(1s);
  store.background.save.step(under_load);
  CHECK(saved() == store.records.back().first);

  store.insert(1);
  store.encode();
  store.background.save.step(quiet);
  CHECK(saved() == store.records.back().first);
}

TEST_CASE("passes for dead contents begin at most once a minute, unless somebody waits") {
  Standing store;
  SweepTask& sweep = store.background.sweep;
  const auto make_dead = [&] {
    store.insert(20);
    store.encode();
    store.remove_last(10);
    store.encode();
    REQUIRE(store.state().chains.counters().get().dead > 0);
  };
  make_dead();
  CHECK_FALSE(sweep.step(idle));
  CHECK(sweep.step(quiet));
  Standing::exhaust(sweep, quiet);
  CHECK(store.counts().spliced > 0);

  make_dead();
  CHECK_FALSE(sweep.step(quiet));
  store.clock.advance(59s);
  CHECK_FALSE(sweep.step(quiet));
  store.clock.advance(1s);
  CHECK(sweep.step(quiet));
  Standing::exhaust(sweep, quiet);

  make_dead();
  CHECK_FALSE(sweep.step(quiet));
  CHECK(sweep.step({.tidying = true}));
}

TEST_CASE("heads that were not read for long enough are demoted in quiet times, and promoted when they are read") {
  Standing store("archive");
  auto options = store.background.options.get();
  options.demote_after_secs = 600;
  options.demotion_worth_percent = 75;
  store.background.options.set(options);
  store.background.take_options.step(quiet);
  std::vector<RecordId> heads;
  for (int64_t page = 1; page <= 10; ++page) {
    store.insert(3, page);
    heads.push_back(store.records.back().first);
  }
  store.encode();
  const auto read = [&](RecordId record) {
    Transaction transaction(store.engine, Transaction::Mode::read);
    REQUIRE(store.collection->find(transaction, record));
  };
  ColdTask& cold = store.background.cold;
  store.clock.advance(1s);
  CHECK_FALSE(cold.step(idle));
  CHECK_FALSE(cold.step(quiet));  // Reads are noted from here on.
  store.clock.advance(599s);
  CHECK_FALSE(cold.step(quiet));
  read(heads[4]);
  store.clock.advance(1s);
  CHECK(cold.step(quiet));
  Standing::exhaust(cold, quiet);
  CHECK(store.state().demoted >= 4);
  CHECK(store.is_whole(heads[4]));

  const auto demoted = std::find_if(heads.begin(), heads.end(), [&](RecordId head) { return !store.is_whole(head); });
  REQUIRE(demoted != heads.end());
  CHECK_FALSE(store.background.promote.step(under_load));
  read(*demoted);
  CHECK(store.background.promote.step(under_load));
  CHECK(store.is_whole(*demoted));
  CHECK(store.state().promoted == 1);
}

TEST_CASE("an update that was missed is encoded by a pass, and is remembered until the pass ends") {
  Standing store;
  store.insert(5);
  store.encode();
  store.background.options.set_enabled(false);
  const auto [record, before] = store.records.back();
  bson::Builder builder;
  builder.append("_id", before["_id"].to_int64()).append("page", int64_t{1}).append("text", store.texts[1] + " again");
  const auto after = builder.done();
  in_transaction(store.engine, [&, id = record, &was = before](Transaction& transaction) {
    store.collection->update(transaction, id, was, after);
  });
  MissedUpdates& missed = store.background.missed;
  CHECK(MissedUpdates::any(*store.collection));
  const Stamp from = missed.from(*store.collection);
  CHECK_FALSE(store.background.cold.step(quiet));
  store.background.options.set_enabled(true);
  missed.begin_pass(*store.collection);
  CHECK_FALSE(MissedUpdates::any(*store.collection));
  CHECK(missed.from(*store.collection) == from);
  store.state().miss(from + 1);  // Another update is missed while the pass runs.
  CHECK(store.background.cold.step(quiet));
  Standing::exhaust(store.background.cold, quiet);
  CHECK(store.counts().caught_up == 1);
  CHECK(missed.from(*store.collection) == RecordStore::State::none_missed);
}

TEST_CASE("after a crash a collection is counted again in quiet times") {
  Standing store;
  store.insert(5);
  store.encode();
  store.background.recount.add(store.collection->id());
  CHECK_FALSE(store.background.recount.counted(store.collection->id()));
  store.state().chains.counters().add({.heads = 7});
  CHECK_FALSE(store.background.recount.step(idle));
  CHECK(store.background.recount.step(quiet));
  CHECK(store.background.recount.counted(store.collection->id()));
  CHECK_FALSE(store.background.recount.step(quiet));
  Transaction transaction(store.engine, Transaction::Mode::read);
  CHECK((store.state().chains.counters().get().of_rows() == check_chains(store.state().chains, transaction, false).counts));
}

TEST_CASE("every part forgets a dropped collection once what was queued before is done") {
  Standing store;
  const CollectionId id = store.collection->id();
  store.insert(20);
  Standing::exhaust(store.background.encode, under_load);
  store.background.save.step(quiet);
  REQUIRE(store.background.state.collection(id));
  REQUIRE(store.background.write_backs.size() > 0);
  store.insert(5);
  store.catalog.drop("wiki.pages");
  CHECK_FALSE(store.background.tracked.contains(id));
  CHECK(store.background.encode.step(under_load));
  CHECK(store.background.write_backs.size() == 0);
  CHECK_FALSE(store.background.state.collection(id));
  CHECK_FALSE(store.background.sources.collection(id));
}
