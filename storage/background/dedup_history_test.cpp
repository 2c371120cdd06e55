// These tests check the space that is used when documents are changed, reverted and deleted. They run random histories through
// the service, and compare the collection with a map.
#include <catch2/catch.hpp>
#include <map>

#include "base/random.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

namespace {

// This is a collection with a map of what it must contain.
struct Page {
  explicit Page(const std::string& collection_options = "{}") : options_text(collection_options) { open(); }

  TemporaryDirectory directory;
  std::string options_text;
  std::unique_ptr<Store> store;
  std::shared_ptr<Collection> collection;
  std::map<RecordId, bson::Document> model;
  int64_t next_id = 1;

  void open() {
    collection.reset();
    store.reset();
    store = std::make_unique<Store>(test_options(directory.path()));
    collection = store->catalog().open("wiki.pages");
    if (collection) return;
    CollectionOptions options;
    options.document = bson::Document(json(options_text));
    collection = store->catalog().create("wiki.pages", options);
  }
  static bson::Document json(const std::string& text) { return bson::json(text); }

  RecordId insert(const std::string& text) {
    const auto made = document(next_id++, text);
    const RecordId record =
        in_transaction(*store, [&](Transaction& transaction) { return collection->insert(transaction, made).id; });
    model[record] = made;
    return record;
  }
  void update(RecordId record, const std::string& text) {
    const auto after = document(model[record]["_id"].to_int64(), text);
    in_transaction(*store, [&](Transaction& transaction) { collection->update(transaction, record, model[record], after); });
    model[record] = after;
  }
  void remove(RecordId record) {
    in_transaction(*store, [&](Transaction& transaction) { collection->remove(transaction, record, model[record]); });
    model.erase(record);
  }
  std::string text_of(RecordId record) { return std::string(model[record]["text"].as_string()); }

  void require_right() {
    store->dedup().drain();
    {
      Transaction transaction(*store, Transaction::Mode::read);
      for (const auto& [record, document] : model) {
        const auto found = collection->find(transaction, record, nullptr);
        REQUIRE(found);
        REQUIRE((found->bytes() == document.bytes()));
      }
    }
    store->dedup().drain(true);  // Afterwards the dead contents that reads met are spliced out, and nothing is left to tidy.
    Transaction transaction(*store, Transaction::Mode::read);
    const ChainReport report = check_chains(collection->records().state().chains, transaction, true);
    for (const auto& problem : report.problems) UNSCOPED_INFO("record " << problem.record << ": " << problem.what);
    REQUIRE(report.problem_count == 0);
    StoreCounts kept = counts();
    kept = kept.of_rows();
    CHECK(kept.dead == report.counts.dead);
    CHECK(kept.chain_rows == report.counts.chain_rows);
    REQUIRE((kept == report.counts));
    CHECK(collection->record_count() == static_cast<int64_t>(model.size()));
  }
  StoreCounts counts() const { return collection->records().state().chains.counters().get(); }
  int64_t stored() const { return counts().stored_bytes(); }
  bson::Document status() const {
    bson::Builder out;
    store->dedup().append_server_status(out);
    return out.done();
  }
};

}  // namespace

TEST_CASE("whatever is inserted, changed, taken back and deleted reads as it should, and leaves nothing behind") {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    INFO("seed " << seed);
    base::Random random(seed);
    Page page;
    std::vector<std::string> known;  // These texts were stored once.
    const auto any = [&] {
      auto at = page.model.begin();
      std::advance(at, static_cast<long>(random.below(page.model.size())));
      return at->first;
    };
    for (int i = 0; i < 400; ++i) {
      const uint64_t dice = random.below(100);
      if (page.model.empty() || dice < 45) {
        std::string text = known.empty() || random.below(15) == 0 ? words(random, 500 + random.below(3000))
                           : random.below(10) == 0
                               ? known[random.below(known.size())]
                               : edited(random, known[known.size() - 1 - random.below(std::min<size_t>(8, known.size()))]);
        known.push_back(text);
        page.insert(text);
      } else if (dice < 65) {
        const RecordId record = any();
        known.push_back(edited(random, page.text_of(record)));
        page.update(record, known.back());
      } else if (dice < 72) {
        page.update(any(), known[random.below(known.size())]);  // The update reverts to an earlier text.
      } else if (dice < 85) {
        page.remove(any());
      } else if (dice < 96) {
        page.store->dedup().drain(dice < 87);
      } else if (dice < 97) {
        page.open();
      } else {
        page.require_right();
      }
    }
    page.store->dedup().drain(true);
    page.require_right();
    while (!page.model.empty()) page.remove(any());
    page.store->dedup().drain(true);
    page.require_right();
    CHECK(page.counts().chain_rows == 0);
    CHECK(page.counts().heads == 0);
    CHECK(page.counts().raw_bytes == 0);
  }
}

TEST_CASE("exact copies and texts that come back cost a few bytes") {
  base::Random random(2);
  Page page;
  std::vector<std::string> versions{words(random, 4000)};
  for (int i = 1; i < 10; ++i) versions.push_back(edited(random, versions.back()));
  for (const auto& version : versions) page.insert(version);
  page.store->dedup().drain();
  const int64_t before = page.stored();
  for (int i = 0; i < 10; ++i) page.insert(versions[9]);  // These are copies.
  page.store->dedup().drain();
  CHECK(page.stored() - before < 10 * 150);
  for (int i = 0; i < 10; ++i) page.insert(versions[static_cast<size_t>(i)]);  // These are earlier texts again.
  page.store->dedup().drain();
  CHECK(page.stored() - before < 10 * 150 + 10 * 400);
  page.require_right();
}

TEST_CASE("a document that others are based on may be changed again and again without growing") {
  base::Random random(3);
  Page page;
  std::string text = words(random, 4000);
  RecordId last = 0;
  for (int i = 0; i < 20; ++i) last = page.insert(text = edited(random, text));
  page.store->dedup().drain();
  const int64_t before = page.stored();
  for (int i = 0; i < 200; ++i) {
    page.update(last, text = edited(random, text));
    if (i % 50 == 0) page.store->dedup().drain();
  }
  page.store->dedup().drain(true);
  page.require_right();
  CHECK(page.status()["background"].as_document()["successors"].to_int64() > 0);
  CHECK(page.counts().dead <= 4);
  CHECK(page.stored() < before + 20'000);
}

TEST_CASE("deleted documents that others are based on give their space back without being read") {
  base::Random random(4);
  Page page;
  std::vector<std::string> texts(8);
  std::vector<RecordId> records;
  for (auto& text : texts) text = words(random, 4000);
  for (int i = 0; i < 400; ++i) {
    auto& text = texts[static_cast<size_t>(i) % texts.size()];
    records.push_back(page.insert(text = edited(random, text)));
  }
  page.store->dedup().drain(true);
  const int64_t before = page.stored();
  // The older contents are based on the newest ones.
  for (int i = 399; i >= 40; --i) page.remove(records[static_cast<size_t>(i)]);
  CHECK(page.counts().dead > 0);
  page.store->dedup().drain(true);
  page.require_right();
  CHECK(page.counts().dead == 0);
  CHECK(page.stored() < before);
  CHECK(page.status()["retainedBytes"].to_int64() == 0);
  CHECK(page.status()["background"].as_document()["spliced"].to_int64() > 0);
}

TEST_CASE("a restart in the middle of a load costs no compression") {
  const auto load = [](bool restart) {
    base::Random random(5);
    Page page;
    std::vector<std::string> texts(20);
    for (auto& text : texts) text = words(random, 3000);
    for (int i = 0; i < 600; ++i) {
      auto& text = texts[random.below(texts.size())];
      page.insert(text = edited(random, text));
      if (restart && i % 150 == 149) page.open();
    }
    page.store->dedup().drain(true);
    page.require_right();
    return static_cast<double>(page.collection->logical_bytes()) / static_cast<double>(page.stored());
  };
  const double through = load(false), with_restarts = load(true);
  INFO("ratio " << through << ", with restarts " << with_restarts);
  CHECK(through > 8);
  CHECK(with_restarts > 0.95 * through);
}

TEST_CASE("each collection is encoded under its own profile, or not at all") {
  base::Random random(6);
  TemporaryDirectory directory;
  StoreOptions options = test_options(directory.path());
  Store store(options);
  const auto load = [&](const std::string& name, const std::string& dedup) {
    CollectionOptions given;
    given.document = bson::json("{dedup: " + dedup + "}");
    const auto collection = store.catalog().create("wiki." + name, given);
    std::string text = words(random, 3000);
    for (int64_t i = 0; i < 100; ++i) {
      text = edited(random, text);
      in_transaction(store, [&](Transaction& transaction) { collection->insert(transaction, document(i, text)); });
    }
    store.dedup().drain();
    Transaction transaction(store, Transaction::Mode::read);
    return check_chains(collection->records().state().chains, transaction, true).counts.stubs;
  };
  CHECK(load("balanced", "{profile: 'balanced'}") > 80);
  CHECK(load("thesis", "{profile: 'thesis'}") > 80);
  CHECK(load("archive", "{profile: 'archive'}") > 80);
  CHECK(load("off", "{enabled: false}") == 0);
  bson::Builder out;
  store.dedup().append_database_stats("wiki", out);
  const auto stats = out.done();
  CHECK(stats["contents"].to_int64() == 300);
}
