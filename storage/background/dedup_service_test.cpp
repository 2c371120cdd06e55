// These tests run the service on a live engine, with writes of clients, restarts and drops.
#include "storage/background/dedup_service.h"
#include "storage/upkeep/validate.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "base/random.h"
#include "storage/contents/chain_check.h"
#include "storage/contents/record_store_state.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

namespace {

Stored insert(Store& store, Collection& collection, int64_t id, const std::string& text) {
  return in_transaction(store, [&](Transaction& transaction) { return collection.insert(transaction, document(id, text)); });
}

int64_t deltas(Store& store, Collection& collection) {
  Transaction transaction(store, Transaction::Mode::read);
  return check_chains(collection.records().state().chains, transaction, false).counts.stubs;
}

// This function inserts `count` revisions of `pages` texts, in turns.
std::map<RecordId, bson::Document> insert_revisions(Store& store, Collection& collection, base::Random& random, int pages,
                                                    int count, std::vector<std::string>& texts, int64_t& next_id) {
  std::map<RecordId, bson::Document> model;
  for (int i = 0; i < count; ++i) {
    auto& text = texts[static_cast<size_t>(i % pages)];
    text = text.empty() ? words(random, 3000) : edited(random, text);
    const int64_t id = next_id++;
    model[insert(store, collection, id, text).id] = document(id, text);
  }
  return model;
}

void require_equal(Store& store, Collection& collection, const std::map<RecordId, bson::Document>& model) {
  Transaction transaction(store, Transaction::Mode::read);
  for (const auto& [record, document] : model) {
    const auto found = collection.find(transaction, record);
    REQUIRE(found);
    REQUIRE((found->bytes() == document.bytes()));
  }
}

}  // namespace

TEST_CASE("revisions become deltas in the background, and go on doing so after a restart") {
  TemporaryDirectory directory;
  base::Random random(3);
  std::vector<std::string> texts(10);
  int64_t next_id = 1;
  std::map<RecordId, bson::Document> model;
  int64_t before = 0;
  {
    Store store(test_options(directory.path()));
    const auto collection = store.catalog().open_or_create("wiki.pages");
    model = insert_revisions(store, *collection, random, 10, 200, texts, next_id);
    store.dedup().drain(true);
    require_equal(store, *collection, model);
    require_clean(store, *collection);
    before = deltas(store, *collection);
    CHECK(before > 150);
    bson::Builder status;
    store.dedup().append_server_status(status);
    const auto figures = status.done();
    CHECK(figures["records"].to_int64() == 200);
    CHECK(figures["storedBytes"].to_int64() * 4 < figures["logicalBytes"].to_int64());
    CHECK(figures["oplog"].as_document()["entries"].to_int64() == 200);
  }
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().open("wiki.pages");
  store.dedup().drain();
  {
    Transaction transaction(store, Transaction::Mode::read);
    const StoreCounts scanned = check_chains(collection->records().state().chains, transaction, false).counts;
    StoreCounts kept = collection->records().state().chains.counters().get();
    kept = kept.of_rows();
    CHECK((kept == scanned));
  }
  for (const auto& [record, document] : insert_revisions(store, *collection, random, 10, 10, texts, next_id))
    model[record] = document;
  store.dedup().drain();
  require_equal(store, *collection, model);
  require_clean(store, *collection);
  // The first new revision of each page met the last old one.
  CHECK(deltas(store, *collection) >= before + 9);
}

TEST_CASE("what came in while dedup was off, or faster than its queue, is encoded later") {
  TemporaryDirectory directory;
  base::Random random(4);
  std::vector<std::string> texts(5);
  int64_t next_id = 1;
  StoreOptions options = test_options(directory.path());
  options.dedup.queue_bytes = 20'000;
  Store store(options);
  const auto collection = store.catalog().open_or_create("wiki.pages");
  store.dedup().set_enabled(false);
  auto model = insert_revisions(store, *collection, random, 5, 100, texts, next_id);
  store.dedup().drain();
  CHECK(deltas(store, *collection) == 0);
  store.dedup().set_enabled(true);
  store.dedup().drain();
  CHECK(deltas(store, *collection) > 80);
  for (const auto& [record, document] : insert_revisions(store, *collection, random, 5, 100, texts, next_id))
    model[record] = document;
  store.dedup().drain();
  CHECK(deltas(store, *collection) > 170);
  require_equal(store, *collection, model);
  require_clean(store, *collection);
}

TEST_CASE("a server that began without dedup encodes what comes after it was switched on") {
  TemporaryDirectory directory;
  base::Random random(5);
  std::vector<std::string> texts(5);
  int64_t next_id = 1;
  StoreOptions options = test_options(directory.path());
  options.dedup.enabled = false;
  Store store(options);
  const auto collection = store.catalog().open_or_create("wiki.pages");
  auto model = insert_revisions(store, *collection, random, 5, 20, texts, next_id);
  store.dedup().set_enabled(true);
  for (const auto& [record, document] : insert_revisions(store, *collection, random, 5, 100, texts, next_id))
    model[record] = document;
  store.dedup().drain();
  CHECK(deltas(store, *collection) > 80);
  require_equal(store, *collection, model);
  require_clean(store, *collection);
}

TEST_CASE("clients that change and delete what is being written back lose nothing") {
  TemporaryDirectory directory;
  StoreOptions options = test_options(directory.path());
  options.checkpoint_seconds = 1;
  Store store(options);
  const auto collection = store.catalog().open_or_create("wiki.pages");
  constexpr int clients = 3;
  std::map<RecordId, bson::Document> models[clients];
  std::vector<std::thread> threads;
  std::atomic<int> failures{0};
  for (int client = 0; client < clients; ++client) {
    threads.emplace_back([&, client] {
      base::Random random(static_cast<uint64_t>(100 + client));
      auto& model = models[client];
      std::string text = words(random, 2000);
      int64_t next_id = client * 1'000'000;
      const auto any = [&] {
        auto at = model.begin();
        std::advance(at, static_cast<long>(random.below(model.size())));
        return at;
      };
      for (int i = 0; i < 700; ++i) {
        const uint64_t dice = random.below(10);
        if (dice < 6 || model.empty()) {
          text = edited(random, text);
          model[insert(store, *collection, next_id, text).id] = document(next_id, text);
          ++next_id;
        } else if (dice < 8) {
          const auto at = any();
          const auto after = document(at->second["_id"].to_int64(), edited(random, text));
          in_transaction(store, [&](Transaction& transaction) { collection->update(transaction, at->first, at->second, after); });
          at->second = after;
        } else if (dice < 9) {
          const auto at = any();
          in_transaction(store, [&](Transaction& transaction) { collection->remove(transaction, at->first, at->second); });
          model.erase(at);
        } else {
          const auto at = any();
          Transaction transaction(store, Transaction::Mode::read);
          const auto found = collection->find(transaction, at->first);
          if (!found || found->bytes() != at->second.bytes()) ++failures;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failures == 0);
  store.dedup().drain(true);
  int64_t records = 0;
  for (const auto& model : models) {
    require_equal(store, *collection, model);
    records += static_cast<int64_t>(model.size());
  }
  CHECK(collection->record_count() == records);
  require_clean(store, *collection);
  CHECK(deltas(store, *collection) > 200);
}

TEST_CASE("after a crash references are counted right, and what is stored is counted again") {
  TemporaryDirectory directory;
  StoreOptions options = test_options(directory.path());
  options.checkpoint_seconds = 1;
  Store store(options);
  const auto collection = store.catalog().open_or_create("wiki.pages");
  base::Random random(17);
  std::vector<std::string> texts(8);
  int64_t next_id = 1;
  std::map<RecordId, bson::Document> model;
  for (int round = 0; round < 6; ++round) {
    for (const auto& [record, one] : insert_revisions(store, *collection, random, 8, 80, texts, next_id)) model[record] = one;
    if (round % 2) store.dedup().drain();
    // Deleted and changed contents stay for the contents based on them, and go with the last of these.
    for (int i = 0; i < 30; ++i) {
      auto at = model.begin();
      std::advance(at, static_cast<long>(random.below(model.size())));
      if (i % 3) {
        const auto after = document(at->second["_id"].to_int64(), edited(random, texts[static_cast<size_t>(i) % 8]));
        in_transaction(store, [&](Transaction& transaction) { collection->update(transaction, at->first, at->second, after); });
        at->second = after;
      } else {
        in_transaction(store, [&](Transaction& transaction) { collection->remove(transaction, at->first, at->second); });
        model.erase(at);
      }
    }
    if (round % 3 == 2) store.dedup().drain();
    const TemporaryDirectory copy;
    directory.copy_to(copy);
    Store recovered(test_options(copy.path()));
    const auto found = recovered.catalog().open("wiki.pages");
    const auto require_valid = [&] {
      const ValidateReport report = validate_collection(recovered, found, true);
      CHECK(report.valid);
      for (const std::string& warning : report.warnings) {
        if (!warning.starts_with("Could not complete validation of table")) FAIL_CHECK(warning);
      }
    };
    require_valid();  // Counts from before the crash are no error.
    require_equal(recovered, *found, model);
    require_clean(recovered, *found);
    recovered.dedup().drain(true);
    require_valid();
  }
}

TEST_CASE("reads stay as short as they were set to be") {
  const auto hops_at_most = [](uint32_t hops_max, size_t bytes_max) {
    TemporaryDirectory directory;
    Store store(test_options(directory.path()));
    auto options = store.dedup().options();
    options.hop_distance = 1000;  // Each content is based on the next one.
    options.read_hops_max = hops_max;
    options.read_bytes_max = bytes_max;
    store.dedup().set_options(options);
    const auto collection = store.catalog().open_or_create("wiki.pages");
    base::Random random(5);
    std::vector<std::string> texts(1);
    int64_t next_id = 1;
    std::map<RecordId, bson::Document> model;
    for (int i = 0; i < 30; ++i) {
      for (const auto& [record, one] : insert_revisions(store, *collection, random, 1, 10, texts, next_id)) model[record] = one;
      store.dedup().drain();
    }
    require_equal(store, *collection, model);
    uint32_t most = 0;
    Transaction transaction(store, Transaction::Mode::read);
    for (const auto& [record, one] : model) {
      ReadInfo info;
      collection->find(transaction, record, &info);
      most = std::max(most, info.hops);
    }
    return most;
  };
  CHECK(hops_at_most(4096, 256 << 20) > 200);
  CHECK(hops_at_most(16, 256 << 20) <= 32);
  CHECK(hops_at_most(64, 256 << 20) > 32);
  CHECK_THROWS_AS(hops_at_most(15, 256 << 20), base::OperationError);
  CHECK_THROWS_AS(hops_at_most(16, 1 << 10), base::OperationError);
}

TEST_CASE("a collection may be dropped while its contents wait to be encoded") {
  TemporaryDirectory directory;
  base::Random random(5);
  Store store(test_options(directory.path()));
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> texts(5);
    int64_t next_id = 1;
    const auto collection = store.catalog().open_or_create("wiki.pages");
    insert_revisions(store, *collection, random, 5, 60, texts, next_id);
    if (round == 1) store.dedup().drain();
    store.catalog().drop("wiki.pages");
  }
  store.dedup().drain(true);
  CHECK(store.catalog().open("wiki.pages") == nullptr);
}

TEST_CASE("figures of a database are read while its collections come and go") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  std::atomic<bool> stop = false;
  std::thread changing([&] {
    for (int i = 0; i < 40; ++i) {
      store.catalog().open_or_create("wiki.pages");
      store.catalog().drop("wiki.pages");
    }
    stop = true;
  });
  while (!stop) {
    bson::Builder of_database, of_all;
    store.dedup().append_database_stats("wiki", of_database);
    store.dedup().append_server_status(of_all);
  }
  changing.join();
  CHECK_FALSE(store.catalog().open("wiki.pages"));
}
