// Heads that nobody reads are demoted and are promoted when they are read; reads are remembered; updates that found the queue
// full are encoded later.
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <filesystem>
#include <map>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/chain_view.h"

using namespace storage;
using namespace storage::test;

namespace {

bson::Document document(int64_t id, int64_t page, const std::string& text) {
  bson::Builder builder;
  builder.append("_id", id).append("page", page).append("text", text);
  return builder.done();
}

StoreOptions options_at(const std::string& path, const std::string& profile = "archive") {
  StoreOptions options = test_options(path);
  options.dedup.profile = profile;
  return options;
}

void demote_cold(Store& store) {
  auto options = store.dedup().options();
  options.demote_after_secs = 600;
  options.demotion_worth_percent = 75;
  store.dedup().set_options(options);
}

// The pages have much in common, and each has versions; the newest version of each is a head of its own.
struct Pages {
  explicit Pages(uint64_t seed, const std::string& server_profile = "archive", const std::string& dedup = "{key: 'page'}",
                 base::Clock& of_engine = base::system_clock())
      : clock(of_engine), random(seed), profile(server_profile), collection_dedup(dedup), shared(words(random, 3000)) {
    open();
  }

  void open() {
    collection.reset();
    store.reset();
    StoreOptions store_options = options_at(directory.path(), profile);
    store_options.clock = &clock;
    store = std::make_unique<Store>(store_options);
    if (profile == "archive") demote_cold(*store);
    collection = store->catalog().open("wiki.pages");
    if (collection) return;
    CollectionOptions options;
    options.document = bson::json("{dedup: " + collection_dedup + "}");
    options.dedup = read_dedup_options(options.document);
    collection = store->catalog().create("wiki.pages", options);
  }
  RecordId insert(int64_t page) {
    std::string& text = texts[page];
    text = text.empty() ? shared + words(random, 200) : edited(random, text);
    const auto made = document(next_id++, page, text);
    const RecordId record =
        in_transaction(*store, [&](Transaction& transaction) { return collection->insert(transaction, made).id; });
    model[record] = made;
    return newest[page] = record;
  }
  void update(RecordId record) {
    const int64_t page = model[record]["page"].to_int64();
    const auto after =
        document(model[record]["_id"].to_int64(), page, edited(random, std::string(model[record]["text"].as_string())));
    in_transaction(*store, [&](Transaction& transaction) { collection->update(transaction, record, model[record], after); });
    model[record] = after;
  }
  void remove(RecordId record) {
    in_transaction(*store, [&](Transaction& transaction) { collection->remove(transaction, record, model[record]); });
    std::erase_if(newest, [&](const auto& one) { return one.second == record; });
    model.erase(record);
  }
  RecordId any() {
    auto at = model.begin();
    std::advance(at, static_cast<long>(random.below(model.size())));
    return at->first;
  }
  void load(int64_t pages, int64_t versions) {
    for (int64_t version = 0; version < versions; ++version)
      for (int64_t page = 1; page <= pages; ++page) insert(page);
    store->dedup().drain();
  }

  uint32_t read(RecordId record) {
    Transaction transaction(*store, Transaction::Mode::read);
    ReadInfo info;
    const auto found = collection->find(transaction, record, &info);
    REQUIRE(found);
    REQUIRE((found->bytes() == model.at(record).bytes()));
    return info.hops;
  }
  // This check isn't noted as a read.
  bool is_whole(RecordId record) {
    Transaction transaction(*store, Transaction::Mode::read);
    return find_row(state().chains.tables(), transaction, record)->row.form == RecordRow::Form::raw;
  }
  size_t whole_heads() {
    size_t count = 0;
    for (const auto& [page, record] : newest) count += is_whole(record);
    return count;
  }
  void tidy() { store->dedup().tidy(*collection); }
  void require_right() { require_right(*store, *collection); }
  void require_right(Store& at, Collection& in) {
    Transaction transaction(at, Transaction::Mode::read);
    auto cursor = in.records().cursor(transaction);  // A scan promotes nothing.
    size_t seen = 0;
    for (; cursor.next(); ++seen) REQUIRE((cursor.content() == model.at(cursor.id()).bytes()));
    REQUIRE(seen == model.size());
    const ChainReport report = check_chains(in.records().state().chains, transaction, true);
    for (const auto& problem : report.problems) UNSCOPED_INFO("record " << problem.record << ": " << problem.what);
    REQUIRE(report.problem_count == 0);
  }
  RecordStore::State& state() { return collection->records().state(); }
  int64_t figure(const char* name) {
    bson::Builder out;
    store->dedup().append_collection_stats(*collection, out);
    return out.done()[name].to_int64();
  }

  base::Clock& clock;
  TemporaryDirectory directory;
  base::Random random;
  std::string profile;
  std::string collection_dedup;
  std::string shared;
  std::unique_ptr<Store> store;
  std::shared_ptr<Collection> collection;
  std::map<int64_t, std::string> texts;
  std::map<RecordId, bson::Document> model;
  std::map<int64_t, RecordId> newest;
  int64_t next_id = 1;
};

}  // namespace

TEST_CASE("what was read in this turn or the last is remembered, whatever else is") {
  CHECK(rc::check([](uint64_t seed) {
    base::Random random(seed);
    ReadMarks marks;
    RC_ASSERT(!marks.recent(1));
    marks.note(1);  // Reads are noted only after the first question about them.
    RC_ASSERT(!marks.recent(1));
    int64_t now = 1'000'000'000, begun = now;
    int64_t records = 10;
    marks.turn(now, 5, records);
    std::map<RecordId, int64_t> read_at;
    for (int step = 0; step < 400; ++step) {
      const auto record = static_cast<RecordId>(1 + random.below(static_cast<uint64_t>(records)));
      if (random.below(3)) {
        marks.note(record);
        read_at[record] = now;
      } else if (random.below(4) == 0) {
        records += static_cast<int64_t>(random.below(30'000));
      } else {
        now += static_cast<int64_t>(random.below(3'000'000));
        marks.turn(now, 5, records);
      }
      RC_ASSERT(marks.marked_for_us(now) == now - begun);
      if (read_at.contains(record) && now - read_at[record] < 5'000'000) RC_ASSERT(marks.recent(record));
    }
    for (int turns = 0; turns < 2; ++turns) marks.turn(now += 5'000'000, 5, records);
    for (const auto& [record, when] : read_at) RC_ASSERT(!marks.recent(record));
    RC_ASSERT(marks.memory_bytes() < 8 * ReadMarks::bits_max / 8);
  }));
}

TEST_CASE("heads that nobody reads become deltas when compact asks, and stand whole again once they are read") {
  Pages pages(1);
  pages.load(12, 4);
  REQUIRE(pages.whole_heads() == 12);
  const RecordId wanted = pages.newest.at(3);
  pages.tidy();  // Reads are noted from here on.
  REQUIRE(pages.figure("demoted") > 6);
  CHECK(pages.whole_heads() == 12 - static_cast<size_t>(pages.figure("demoted")));
  pages.require_right();
  CHECK(pages.figure("promoted") == 0);

  REQUIRE_FALSE(pages.is_whole(wanted));
  CHECK(pages.read(wanted) > 0);
  pages.store->dedup().drain();
  CHECK(pages.is_whole(wanted));
  CHECK(pages.read(wanted) == 0);
  CHECK(pages.figure("promoted") == 1);
  pages.require_right();
  pages.tidy();
  CHECK(pages.is_whole(wanted));  // The page was read lately.

  // An old version reads as before.
  const auto old = pages.model.begin()->first;
  CHECK(pages.read(old) > 0);
  pages.store->dedup().drain();
  CHECK_FALSE(pages.is_whole(old));

  // The chain of a demoted head goes on.
  int64_t page = 0;
  for (const auto& [one, record] : pages.newest)
    if (!pages.is_whole(record)) page = one;
  REQUIRE(page);
  const RecordId demoted = pages.newest.at(page);
  const RecordId next = pages.insert(page);
  pages.store->dedup().drain();
  CHECK(pages.is_whole(next));
  Transaction transaction(*pages.store, Transaction::Mode::read);
  const auto view = view_chain(*pages.collection, transaction, demoted);
  REQUIRE(view);
  CHECK(view->nodes.front().key.content.record == next);
  CHECK(std::none_of(view->nodes.begin(), view->nodes.end(), [](const ChainNode& node) { return node.demoted; }));
}

TEST_CASE("a chain whose head was demoted says so") {
  Pages pages(2);
  pages.load(6, 3);
  pages.tidy();
  size_t demoted = 0;
  for (const auto& [page, record] : pages.newest) {
    Transaction transaction(*pages.store, Transaction::Mode::read);
    const auto view = view_chain(*pages.collection, transaction, record);
    REQUIRE(view);
    CHECK(view->nodes[view->asked].demoted == !pages.is_whole(record));
    demoted += view->nodes[view->asked].demoted;
    CHECK(view->heads == (view->nodes[view->asked].demoted ? 0 : 1));
  }
  CHECK(demoted == static_cast<size_t>(pages.figure("demoted")));
}

TEST_CASE("balanced never demotes the newest of a declared lineage") {
  Pages pages(3, "balanced");
  auto options = pages.store->dedup().options();
  CHECK(options.demote_after_secs == 0);
  options.demote_after_secs = 1;
  pages.store->dedup().set_options(options);
  pages.load(10, 3);
  pages.tidy();
  CHECK(pages.whole_heads() == 10);
  for (const auto& [page, record] : pages.newest) CHECK(pages.read(record) == 0);
  options.demote_lineages = true;
  pages.store->dedup().set_options(options);
  pages.store->dedup().drain();
  for (int i = 0; i < 2; ++i) pages.state().reads.turn(INT64_MAX / 4 * (i + 1), 1, 10);  // The reads were long ago.
  pages.tidy();
  CHECK(pages.whole_heads() < 10);
  pages.require_right();
}

TEST_CASE("an archive under a balanced server demotes what is cold as the server is told to") {
  Pages pages(5, "balanced", "{key: 'page', profile: 'archive'}");
  pages.load(10, 3);
  pages.tidy();
  CHECK(pages.whole_heads() == 10);  // Nobody asked for a demotion.
  auto options = pages.store->dedup().options();
  CHECK_FALSE(options.demote_lineages);  // This is balanced's option; an archive follows its own.
  options.demote_after_secs = 600;
  pages.store->dedup().set_options(options);
  pages.load(10, 1);
  pages.tidy();
  CHECK(pages.whole_heads() < 10);
  pages.require_right();
}

TEST_CASE("what is not read for long is demoted in quiet times, what is read stays") {
  base::testing::StoppedClock clock;
  Pages pages(4, "archive", "{key: 'page'}", clock);
  pages.load(10, 3);
  const RecordId wanted = pages.newest.at(2);
  const auto pass_time = [&](std::chrono::seconds time) {
    clock.advance(time);
    pages.read(wanted);
    pages.store->dedup().drain();
  };
  pass_time(std::chrono::seconds(3));  // Nobody has written for a while, and reads are noted from here on.
  for (int i = 0; i < 5; ++i) pass_time(std::chrono::seconds(100));
  CHECK(pages.whole_heads() == 10);
  pass_time(std::chrono::seconds(100));
  CHECK(pages.figure("demoted") >= 4);
  CHECK(pages.is_whole(wanted));
  CHECK(pages.figure("promoted") == 0);
  pages.require_right();
}

TEST_CASE("demoted, promoted, changed, deleted, killed at any moment: all reads as it should") {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    INFO("seed " << seed);
    Pages pages(100 + seed);
    auto options = pages.store->dedup().options();
    base::Random& random = pages.random;
    for (int step = 0; step < 400; ++step) {
      const uint64_t dice = random.below(100);
      if (pages.model.empty() || dice < 50) {
        pages.insert(1 + static_cast<int64_t>(random.below(12)));
      } else if (dice < 65) {
        pages.update(pages.any());
      } else if (dice < 72) {
        pages.remove(pages.any());
      } else if (dice < 90) {
        pages.read(pages.any());
      } else if (dice < 96) {
        if (random.below(2)) pages.store->dedup().drain(random.below(4) == 0);
        if (random.below(2)) pages.tidy();
      } else if (dice < 98) {
        // The copy is the disk as kill -9 would leave it.
        TemporaryDirectory copy;
        pages.directory.copy_to(copy);
        std::filesystem::remove(copy.path() + "/WiredTiger.lock");
        Store store(options_at(copy.path()));
        demote_cold(store);
        const auto collection = store.catalog().open("wiki.pages");
        REQUIRE(collection);
        pages.require_right(store, *collection);
        store.dedup().drain(true);
        store.dedup().tidy(*collection);
        pages.require_right(store, *collection);
      } else {
        pages.open();
        options.hop_distance = 4;
        pages.store->dedup().set_options(options);
      }
    }
    pages.store->dedup().drain(true);
    pages.tidy();
    pages.require_right();
    // A read may go through every chain on its way, because demoted heads depend on each other.
    uint32_t hops = 0;
    for (const auto& [record, document] : pages.model) hops = std::max(hops, pages.read(record));
    CHECK(hops <= (options.demotion_depth_max + 1) * 200);
    std::vector<RecordId> records;
    for (const auto& [record, document] : pages.model) records.push_back(record);
    for (const RecordId record : records) pages.remove(record);
    pages.store->dedup().drain(true);
    pages.require_right();
    CHECK(pages.state().chains.counters().get().chain_rows == 0);
  }
}

TEST_CASE("an update that found the queue full is encoded in the end, over a restart too") {
  for (const bool restart : {false, true}) {
    Pages pages(7, "balanced");
    pages.load(10, 3);
    const auto whole = [&] {
      size_t count = 0;
      for (const auto& [record, document] : pages.model) count += pages.is_whole(record);
      return count;
    };
    const size_t before = whole();
    pages.store->dedup().set_enabled(false);  // Nothing is queued while dedup is off.
    for (const auto& [record, document] : std::map(pages.model)) pages.update(record);
    pages.store->dedup().drain(true);
    CHECK(whole() > 2 * before);
    if (restart) pages.open();
    pages.store->dedup().set_enabled(true);
    pages.store->dedup().drain(true);
    INFO("restart " << restart << ", whole " << before << ", now " << whole());
    CHECK(whole() <= before + 3);
    pages.require_right();
  }
}
