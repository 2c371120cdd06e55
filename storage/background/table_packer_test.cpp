// These tests rewrite small files with holes, and check what that gives back and what it leaves.
#include "storage/background/table_packer.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;

namespace {

using Model = std::map<Bytes, Bytes>;

constexpr int64_t reusable_worth = 16 << 10;

StoreOptions quiet(const std::string& path) {
  StoreOptions options = test_options(path);
  options.dedup.enabled = false;
  options.checkpoint_seconds = 3600;  // Only the test itself takes checkpoints.
  return options;
}

Bytes key_of(uint64_t number) {
  Bytes key;
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  return key;
}

// These rows don't compress, so a file is about as large as its rows.
Bytes noise(base::Random& random, size_t bytes) {
  Bytes out(bytes, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

void put_all(Store& store, const Table& table, const Model& rows) {
  in_transaction(store, [&](Transaction& transaction) {
    for (const auto& [key, value] : rows) table.put(transaction, key, value);
  });
}

Model read_all(Store& store, const Table& table) {
  Transaction transaction(store, Transaction::Mode::read);
  Model rows;
  TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) rows.emplace(cursor.key(), cursor.value());
  return rows;
}

bool never() {
  return false;
}

// This is a table from which all rows except every `kept_of`-th were removed.
struct Thinned {
  TemporaryDirectory directory;
  Store store{quiet(directory.path())};
  Table table = store.engine().open_table("things");
  Model model;

  Thinned(size_t rows, size_t row_bytes, uint64_t kept_of) {
    base::Random random(1);
    for (uint64_t i = 0; i < rows; ++i) model[key_of(i)] = noise(random, row_bytes);
    put_all(store, table, model);
    store.engine().checkpoint();
    in_transaction(store, [&](Transaction& transaction) {
      for (uint64_t i = 0; i < rows; ++i) {
        if (i % kept_of == 0) continue;
        table.remove(transaction, key_of(i));
        model.erase(key_of(i));
      }
    });
    store.engine().checkpoint();
    store.engine().checkpoint();
  }
  int64_t file() const { return store.engine().file_bytes("things"); }
  int64_t reusable() const { return store.engine().reusable_bytes("things"); }
};

}  // namespace

TEST_CASE("a small file with holes is written again to its front, and holds what it held") {
  Thinned thinned(600, 1000, 40);
  const int64_t before = thinned.file();
  REQUIRE(thinned.reusable() > before / 2);
  TablePacker packer(thinned.store.contents(), true);
  CHECK(packer.rewrite_if_worth(thinned.table, never));
  CHECK(packer.compactions() == 1);
  CHECK(thinned.file() < before / 2);
  CHECK(read_all(thinned.store, thinned.table) == thinned.model);

  // One rewrite is enough.
  const int64_t after = thinned.file();
  packer.rewrite_if_worth(thinned.table, never);
  CHECK(thinned.file() <= after);
  CHECK(read_all(thinned.store, thinned.table) == thinned.model);
}

TEST_CASE("rows larger than a page are written again too") {
  Thinned thinned(24, 60'000, 3);
  const int64_t before = thinned.file();
  REQUIRE(thinned.reusable() > reusable_worth);
  TablePacker packer(thinned.store.contents(), true);
  CHECK(packer.rewrite_if_worth(thinned.table, never));
  CHECK(thinned.file() < before);
  CHECK(thinned.reusable() < thinned.file() / 3);
  CHECK(read_all(thinned.store, thinned.table) == thinned.model);
}

TEST_CASE("pages that go to and fro between two holes are left where the file is shorter") {
  for (const size_t rows : {12, 18, 24, 30, 36, 42}) {
    Thinned thinned(rows, 60'000, 3);
    int64_t best = thinned.file();
    for (int i = 0; i < 5; ++i) {
      TablePacker(thinned.store.contents(), true).rewrite_if_worth(thinned.table, never);
      CHECK(thinned.file() <= best);
      best = std::min(best, thinned.file());
    }
    CHECK(read_all(thinned.store, thinned.table) == thinned.model);
  }
}

TEST_CASE("compacting a small file does not make it longer") {
  for (const size_t rows : {60, 90, 120, 150}) {
    Thinned thinned(rows, 4'000, 3);
    const int64_t before = thinned.file();
    for (int i = 0; i < 4; ++i) {
      thinned.store.engine().compact("things");
      CHECK(thinned.file() <= before);
    }
    CHECK(read_all(thinned.store, thinned.table) == thinned.model);
  }
}

TEST_CASE("a file that is twice as long on the way is brought to its end, and packing again and again ends") {
  Thinned thinned(2000, 1000, 1);
  // The rows of one page in eight are removed. The file is small enough to be rewritten, and is more than half full.
  in_transaction(thinned.store, [&](Transaction& transaction) {
    for (uint64_t i = 0; i < 2000; ++i) {
      if (i / 60 % 8 != 0) continue;
      thinned.table.remove(transaction, key_of(i));
      thinned.model.erase(key_of(i));
    }
  });
  thinned.store.engine().checkpoint();
  thinned.store.engine().checkpoint();
  const int64_t before = thinned.file();
  REQUIRE(before < 4 << 20);
  REQUIRE(thinned.reusable() > before / 12);
  TablePacker packer(thinned.store.contents(), true);
  int rounds = 0;
  while (packer.compact_if_worth("things") || packer.rewrite_if_worth(thinned.table, never)) REQUIRE(++rounds < 10);
  CHECK(thinned.file() <= before);
  CHECK(read_all(thinned.store, thinned.table) == thinned.model);
}

TEST_CASE("what was rewritten survives without another checkpoint") {
  TemporaryDirectory copy;
  Thinned thinned(600, 1000, 40);
  TablePacker(thinned.store.contents(), true).rewrite_if_worth(thinned.table, never);
  thinned.directory.copy_to(copy);
  std::filesystem::remove(copy.path() + "/WiredTiger.lock");
  Store store(quiet(copy.path()));
  CHECK(read_all(store, store.engine().open_table("things")) == thinned.model);
}

TEST_CASE("a file without holes, a large one and an interrupted one are left alone") {
  SECTION("without holes") {
    Thinned full(100, 1000, 1);
    const int64_t before = full.file();
    TablePacker packer(full.store.contents(), true);
    CHECK_FALSE(packer.rewrite_if_worth(full.table, never));
    CHECK(packer.compactions() == 0);
    CHECK(full.file() == before);
  }
  SECTION("large") {  // WiredTiger's own compaction handles such files.
    Thinned large(6000, 1000, 40);
    REQUIRE(large.file() > 4 << 20);
    TablePacker packer(large.store.contents(), true);
    CHECK_FALSE(packer.rewrite_if_worth(large.table, never));
    CHECK(packer.compact_if_worth("things"));
    CHECK(large.file() < 4 << 20);
    CHECK(read_all(large.store, large.table) == large.model);
  }
  SECTION("holes that no page of it fits into") {
    TemporaryDirectory directory;
    base::Random random(2);
    Model model;
    for (uint64_t i = 0; i < 600; ++i) model[key_of(i)] = noise(random, 1000);
    {
      Store store(quiet(directory.path()));
      put_all(store, store.engine().open_table("things"), model);
    }
    Store store(quiet(directory.path()));  // This store reads the pages one by one, and writes only those whose rows are put.
    const Table table = store.engine().open_table("things");
    put_all(store, table, {model.begin(), std::next(model.begin(), 100)});
    store.engine().checkpoint();
    const int64_t before = store.engine().file_bytes("things");
    REQUIRE(store.engine().reusable_bytes("things") > before / 12);
    REQUIRE(store.engine().reusable_bytes("things") < before / 3);
    TablePacker packer(store.contents(), true);
    CHECK_FALSE(packer.rewrite_if_worth(table, never, 1 << 20));
    CHECK(store.engine().file_bytes("things") == before);
    CHECK(packer.rewrite_if_worth(table, never));
    CHECK(read_all(store, table) == model);
  }
  SECTION("interrupted") {
    Thinned thinned(600, 1000, 40);
    TablePacker packer(thinned.store.contents(), true);
    CHECK_FALSE(packer.rewrite_if_worth(thinned.table, [] { return true; }));
    CHECK(packer.compactions() == 0);
    CHECK(read_all(thinned.store, thinned.table) == thinned.model);
  }
}

namespace {

int64_t engine_figure(const Store& store, const char* group, const char* name) {
  bson::Builder out;
  store.engine().append_stats(out);
  const auto all = out.done();
  return all[group].as_document()[name].to_int64();
}

}  // namespace

TEST_CASE("whoever inserts behind rows that were packed writes none of their pages") {
  TemporaryDirectory directory;
  StoreOptions options = quiet(directory.path());
  options.cache_bytes = 1 << 30;  // With such a cache only checkpoints write pages.
  Store store(options);
  const auto collection = store.catalog().create("wiki.pages", {});
  base::Random random(3);
  int64_t next = 0;
  const auto insert = [&] {  // The rows are more than the engine lets a page grow to.
    for (int batch = 0; batch < 30; ++batch) {
      in_transaction(store, [&](Transaction& transaction) {
        for (int i = 0; i < 50; ++i) collection->insert(transaction, test::document(next++, test::words(random, 10'000)));
      });
    }
  };
  const auto written = [&] { return engine_figure(store, "cache", "application threads page write from cache to disk count"); };
  insert();
  REQUIRE(TablePacker(store.contents()).tidy(collection->records().state().chains, never));
  REQUIRE(engine_figure(store, "cache", "in-memory page splits") > 0);
  const int64_t before = written();
  insert();
  CHECK(written() == before);
  Transaction transaction(store, Transaction::Mode::read);
  int64_t seen = 0;
  for (auto cursor = collection->records().cursor(transaction); cursor.next();) ++seen;
  CHECK(seen == next);
}

namespace {

// This is a collection whose chain table grows.
struct Chains {
  static constexpr int records = 200;
  TemporaryDirectory directory;
  Store store{quiet(directory.path())};
  std::shared_ptr<Collection> collection = store.catalog().create("wiki.pages", {});
  base::Random random{5};
  std::vector<std::string> vocabulary;
  std::vector<RecordId> ids;

  Chains() {
    for (int i = 0; i < 500; ++i) vocabulary.push_back(test::words(random, 6));
    in_transaction(store, [&](Transaction& transaction) {
      for (int i = 0; i < records; ++i) ids.push_back(record_store().insert(transaction, text(), transaction.next_stamp()));
    });
  }
  std::string text() {
    std::string text;
    while (text.size() < 300) text += vocabulary[random.below(vocabulary.size())];
    return text;
  }
  RecordStore& record_store() { return collection->records(); }
  ChainStore& chains() { return record_store().state().chains; }
  StoreCounts counts() { return chains().counters().get(); }

  // This function overwrites all records so many times; their old contents are kept.
  void overwrite(int times) {
    for (int i = 0; i < times; ++i) {
      in_transaction(store, [&](Transaction& transaction) {
        for (const RecordId id : ids) {
          const Stamp stamp = transaction.next_stamp();
          record_store().update(transaction, id, text(), stamp, stamp);
        }
      });
    }
    store.engine().checkpoint();
    store.engine().checkpoint();
  }
  int64_t used() {
    const std::string& name = chains().tables().chains.name();
    return store.engine().file_bytes(name) - store.engine().reusable_bytes(name);
  }
};

}  // namespace

TEST_CASE("pages of a chain table are written fast, and thoroughly by who packs them") {
  Chains chains;
  chains.overwrite(50);
  const Model rows = read_all(chains.store, chains.chains().tables().chains);
  const int64_t fast = chains.used();
  CHECK(chains.counts().unsettled_bytes == chains.counts().chain_bytes);
  CHECK(TablePacker(chains.store.contents()).tidy(chains.chains(), never));
  CHECK(chains.counts().unsettled_bytes == 0);
  CHECK(chains.used() < fast * 95 / 100);
  CHECK(read_all(chains.store, chains.chains().tables().chains) == rows);
  test::require_clean(chains.store, *chains.collection);

  SECTION("little that came since is left until somebody asks") {
    chains.overwrite(5);
    TablePacker(chains.store.contents()).tidy(chains.chains(), never);
    CHECK(chains.counts().unsettled_bytes > 0);
    TablePacker(chains.store.contents(), true).tidy(chains.chains(), never);
    CHECK(chains.counts().unsettled_bytes == 0);
  }
  SECTION("who was interrupted goes on where he was") {
    chains.overwrite(50);
    const int64_t before = chains.used();
    int asked = 0;
    for (int turns = 0; chains.counts().unsettled_bytes > 0; ++turns) {
      REQUIRE(turns < 100);
      // The interruption comes only between batches, so each turn does at least one batch.
      TablePacker(chains.store.contents()).tidy(chains.chains(), [&] { return ++asked % 2 == 0; });
    }
    CHECK(asked > 4);
    CHECK(chains.used() < before);
    test::require_clean(chains.store, *chains.collection);
  }
}

TEST_CASE("rows aren't moved below a checkpoint, where the engine would copy them to its history file") {
  constexpr int records = 10'000, row_bytes = 2'000;
  TemporaryDirectory directory;
  StoreOptions options = quiet(directory.path());
  options.cache_bytes = 10 << 20;  // The cache is half as large as the rows that are moved.
  Store store(options);
  const auto collection = store.catalog().create("wiki.pages", {});
  base::Random random(7);
  for (int i = 0; i < records; ++i) {
    in_transaction(store, [&](Transaction& transaction) {
      collection->records().insert(transaction, noise(random, row_bytes), transaction.next_stamp());
    });
  }
  store.engine().checkpoint();

  // The next checkpoint waits in its middle, as on a machine that is busy with other things.
  WT_CONNECTION* const connection = store.engine().internals().connection.get();
  REQUIRE(connection->reconfigure(connection, "timing_stress_for_test=[checkpoint_slow]") == 0);
  std::thread checkpoint([&] { store.engine().checkpoint(); });
  const bool begun = base::testing::wait_until([&] {
    bson::Builder stats;
    store.engine().append_stats(stats);
    return stats.done()["checkpoint"].as_document()["progress state"].to_int64() != 0;
  });
  TablePacker packer(store.contents());
  for (const bool back : {false, true}) packer.pack(collection->records().state().chains, back, never);
  checkpoint.join();
  CHECK(begun);
  REQUIRE(connection->reconfigure(connection, "timing_stress_for_test=[]") == 0);
  CHECK(packer.packed() == 2 * records);
  CHECK(std::filesystem::file_size(directory.path() + "/WiredTigerHS.wt") < 64 << 10);
}

TEST_CASE("rows that are moved never leave much unwritten") {
  constexpr int records = 30'000, row_bytes = 2'000;
  TemporaryDirectory directory;
  StoreOptions options = quiet(directory.path());
  options.cache_bytes = 256 << 20;
  Store store(options);
  const auto collection = store.catalog().create("wiki.pages", {});
  base::Random random(11);
  in_transaction(store, [&](Transaction& transaction) {
    for (int i = 0; i < records; ++i)
      collection->records().insert(transaction, noise(random, row_bytes), transaction.next_stamp());
  });
  store.engine().checkpoint();

  int64_t most = 0;
  const auto look = [&] {
    most = std::max(most, engine_statistic(store.engine().internals().connection, WT_STAT_CONN_CACHE_BYTES_DIRTY));
    return false;
  };
  TablePacker packer(store.contents());
  REQUIRE(packer.pack(collection->records().state().chains, false, look));
  CHECK(packer.packed() == records);
  CHECK(most > 0);
  // It is 1/20 of the cache, and the large pages that a batch begins to change. The rows have 60 MB, and change two tables.
  CHECK(most < 48 << 20);
}
