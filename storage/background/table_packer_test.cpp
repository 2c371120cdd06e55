// Small files with holes: what writing them again gives back, and what it leaves as it is.
#include "storage/background/table_packer.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <thread>

#include "base/random.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_engine.h"
#include "storage/testing/test_support.h"

using namespace storage;

namespace {

using Model = std::map<Bytes, Bytes>;

constexpr int64_t reusable_worth = 16 << 10;

EngineOptions quiet(const std::string& path) {
  EngineOptions options = test_options(path);
  options.dedup.enabled = false;
  options.checkpoint_seconds = 3600;  // none but those that the test takes
  return options;
}

Bytes key_of(uint64_t number) {
  Bytes key;
  for (int shift = 24; shift >= 0; shift -= 8) key.push_back(static_cast<char>(number >> shift));
  return key;
}

// Rows that don't compress: a file has about the bytes that are in it.
Bytes noise(base::Random& random, size_t bytes) {
  Bytes out(bytes, '\0');
  for (char& byte : out) byte = static_cast<char>(random());
  return out;
}

void put_all(Engine& engine, const Table& table, const Model& rows) {
  in_transaction(engine, [&](Transaction& transaction) {
    for (const auto& [key, value] : rows) table.put(transaction, key, value);
  });
}

Model read_all(Engine& engine, const Table& table) {
  Transaction transaction(engine, Transaction::Mode::read);
  Model rows;
  TableCursor cursor = table.cursor(transaction);
  while (cursor.next()) rows.emplace(cursor.key(), cursor.value());
  return rows;
}

bool never() {
  return false;
}

// A table of which all rows but every `kept_of`-th went.
struct Thinned {
  TemporaryDirectory directory;
  Engine engine{quiet(directory.path())};
  Table table = engine.open_table("things");
  Model model;

  Thinned(size_t rows, size_t row_bytes, uint64_t kept_of) {
    base::Random random(1);
    for (uint64_t i = 0; i < rows; ++i) model[key_of(i)] = noise(random, row_bytes);
    put_all(engine, table, model);
    engine.checkpoint();
    in_transaction(engine, [&](Transaction& transaction) {
      for (uint64_t i = 0; i < rows; ++i) {
        if (i % kept_of == 0) continue;
        table.remove(transaction, key_of(i));
        model.erase(key_of(i));
      }
    });
    engine.checkpoint();
    engine.checkpoint();
  }
  int64_t file() const { return engine.file_bytes("things"); }
  int64_t reusable() const { return engine.reusable_bytes("things"); }
};

}  // namespace

TEST_CASE("a small file with holes is written again to its front, and holds what it held") {
  Thinned thinned(600, 1000, 40);
  const int64_t before = thinned.file();
  REQUIRE(thinned.reusable() > before / 2);
  TablePacker packer(thinned.engine, true);
  CHECK(packer.rewrite_if_worth(thinned.table, never));
  CHECK(packer.compactions() == 1);
  CHECK(thinned.file() < before / 2);
  CHECK(read_all(thinned.engine, thinned.table) == thinned.model);

  // Once is enough.
  const int64_t after = thinned.file();
  packer.rewrite_if_worth(thinned.table, never);
  CHECK(thinned.file() <= after);
  CHECK(read_all(thinned.engine, thinned.table) == thinned.model);
}

TEST_CASE("rows larger than a page are written again too") {
  Thinned thinned(24, 60'000, 3);
  const int64_t before = thinned.file();
  REQUIRE(thinned.reusable() > reusable_worth);
  TablePacker packer(thinned.engine, true);
  CHECK(packer.rewrite_if_worth(thinned.table, never));
  CHECK(thinned.file() < before);
  CHECK(thinned.reusable() < thinned.file() / 3);
  CHECK(read_all(thinned.engine, thinned.table) == thinned.model);
}

TEST_CASE("pages that go to and fro between two holes are left where the file is shorter") {
  for (const size_t rows : {12, 18, 24, 30, 36, 42}) {
    Thinned thinned(rows, 60'000, 3);
    int64_t best = thinned.file();
    for (int i = 0; i < 5; ++i) {
      TablePacker(thinned.engine, true).rewrite_if_worth(thinned.table, never);
      CHECK(thinned.file() <= best);
      best = std::min(best, thinned.file());
    }
    CHECK(read_all(thinned.engine, thinned.table) == thinned.model);
  }
}

TEST_CASE("compacting a small file does not make it longer") {
  for (const size_t rows : {60, 90, 120, 150}) {
    Thinned thinned(rows, 4'000, 3);
    const int64_t before = thinned.file();
    for (int i = 0; i < 4; ++i) {
      thinned.engine.compact("things");
      CHECK(thinned.file() <= before);
    }
    CHECK(read_all(thinned.engine, thinned.table) == thinned.model);
  }
}

TEST_CASE("a file that is twice as long on the way is brought to its end, and packing again and again ends") {
  Thinned thinned(2000, 1000, 1);
  // One page in eight: the file is small enough to be written again, and what is in it more than half of that.
  in_transaction(thinned.engine, [&](Transaction& transaction) {
    for (uint64_t i = 0; i < 2000; ++i) {
      if (i / 60 % 8 != 0) continue;
      thinned.table.remove(transaction, key_of(i));
      thinned.model.erase(key_of(i));
    }
  });
  thinned.engine.checkpoint();
  thinned.engine.checkpoint();
  const int64_t before = thinned.file();
  REQUIRE(before < 4 << 20);
  REQUIRE(thinned.reusable() > before / 12);
  TablePacker packer(thinned.engine, true);
  int rounds = 0;
  while (packer.compact_if_worth("things") || packer.rewrite_if_worth(thinned.table, never)) REQUIRE(++rounds < 10);
  CHECK(thinned.file() <= before);
  CHECK(read_all(thinned.engine, thinned.table) == thinned.model);
}

TEST_CASE("what was rewritten survives without another checkpoint") {
  TemporaryDirectory copy;
  Thinned thinned(600, 1000, 40);
  TablePacker(thinned.engine, true).rewrite_if_worth(thinned.table, never);
  thinned.directory.copy_to(copy);
  std::filesystem::remove(copy.path() + "/WiredTiger.lock");
  Engine engine(quiet(copy.path()));
  CHECK(read_all(engine, engine.open_table("things")) == thinned.model);
}

TEST_CASE("a file without holes, a large one and an interrupted one are left alone") {
  SECTION("without holes") {
    Thinned full(100, 1000, 1);
    const int64_t before = full.file();
    TablePacker packer(full.engine, true);
    CHECK_FALSE(packer.rewrite_if_worth(full.table, never));
    CHECK(packer.compactions() == 0);
    CHECK(full.file() == before);
  }
  SECTION("large") {  // WiredTiger's own compaction is for these
    Thinned large(6000, 1000, 40);
    REQUIRE(large.file() > 4 << 20);
    TablePacker packer(large.engine, true);
    CHECK_FALSE(packer.rewrite_if_worth(large.table, never));
    CHECK(packer.compact_if_worth("things"));
    CHECK(large.file() < 4 << 20);
    CHECK(read_all(large.engine, large.table) == large.model);
  }
  SECTION("holes that no page of it fits into") {
    TemporaryDirectory directory;
    base::Random random(2);
    Model model;
    for (uint64_t i = 0; i < 600; ++i) model[key_of(i)] = noise(random, 1000);
    {
      Engine engine(quiet(directory.path()));
      put_all(engine, engine.open_table("things"), model);
    }
    Engine engine(quiet(directory.path()));  // its pages are read one by one, and only those of the rows put are written
    const Table table = engine.open_table("things");
    put_all(engine, table, {model.begin(), std::next(model.begin(), 100)});
    engine.checkpoint();
    const int64_t before = engine.file_bytes("things");
    REQUIRE(engine.reusable_bytes("things") > before / 12);
    REQUIRE(engine.reusable_bytes("things") < before / 3);
    TablePacker packer(engine, true);
    CHECK_FALSE(packer.rewrite_if_worth(table, never, 1 << 20));
    CHECK(engine.file_bytes("things") == before);
    CHECK(packer.rewrite_if_worth(table, never));
    CHECK(read_all(engine, table) == model);
  }
  SECTION("interrupted") {
    Thinned thinned(600, 1000, 40);
    TablePacker packer(thinned.engine, true);
    CHECK_FALSE(packer.rewrite_if_worth(thinned.table, [] { return true; }));
    CHECK(packer.compactions() == 0);
    CHECK(read_all(thinned.engine, thinned.table) == thinned.model);
  }
}

namespace {

int64_t engine_figure(const Engine& engine, const char* group, const char* name) {
  bson::Builder out;
  engine.append_stats(out);
  const auto all = out.done();
  return all[group].as_document()[name].to_int64();
}

}  // namespace

TEST_CASE("whoever inserts behind rows that were packed writes none of their pages") {
  TemporaryDirectory directory;
  EngineOptions options = quiet(directory.path());
  options.cache_bytes = 1 << 30;  // nothing else makes anybody write pages
  Engine engine(options);
  const auto collection = engine.catalog().create("wiki.pages", {});
  base::Random random(3);
  int64_t next = 0;
  const auto insert = [&] {  // more than the engine lets a page become
    for (int batch = 0; batch < 30; ++batch) {
      in_transaction(engine, [&](Transaction& transaction) {
        for (int i = 0; i < 50; ++i) collection->insert(transaction, test::document(next++, test::words(random, 10'000)));
      });
    }
  };
  const auto written = [&] { return engine_figure(engine, "cache", "application threads page write from cache to disk count"); };
  insert();
  REQUIRE(TablePacker(engine).tidy(collection->records().state().chains, never));
  REQUIRE(engine_figure(engine, "cache", "in-memory page splits") > 0);
  const int64_t before = written();
  insert();
  CHECK(written() == before);
  Transaction transaction(engine, Transaction::Mode::read);
  int64_t seen = 0;
  for (auto cursor = collection->records().cursor(transaction); cursor.next();) ++seen;
  CHECK(seen == next);
}

namespace {

// A collection whose chain table grows.
struct Chains {
  static constexpr int records = 200;
  TemporaryDirectory directory;
  Engine engine{quiet(directory.path())};
  std::shared_ptr<Collection> collection = engine.catalog().create("wiki.pages", {});
  base::Random random{5};
  std::vector<std::string> vocabulary;
  std::vector<RecordId> ids;

  Chains() {
    for (int i = 0; i < 500; ++i) vocabulary.push_back(test::words(random, 6));
    in_transaction(engine, [&](Transaction& transaction) {
      for (int i = 0; i < records; ++i) ids.push_back(store().insert(transaction, text(), transaction.next_stamp()));
    });
  }
  std::string text() {
    std::string text;
    while (text.size() < 300) text += vocabulary[random.below(vocabulary.size())];
    return text;
  }
  RecordStore& store() { return collection->records(); }
  ChainStore& chains() { return store().state().chains; }
  StoreCounts counts() { return chains().counters().get(); }

  // All records are overwritten so many times, and what they were is kept.
  void overwrite(int times) {
    for (int i = 0; i < times; ++i) {
      in_transaction(engine, [&](Transaction& transaction) {
        for (const RecordId id : ids) {
          const Stamp stamp = transaction.next_stamp();
          store().update(transaction, id, text(), stamp, stamp);
        }
      });
    }
    engine.checkpoint();
    engine.checkpoint();
  }
  int64_t used() {
    const std::string& name = chains().tables().chains.name();
    return engine.file_bytes(name) - engine.reusable_bytes(name);
  }
};

}  // namespace

TEST_CASE("pages of a chain table are written fast, and thoroughly by who packs them") {
  Chains chains;
  chains.overwrite(50);
  const Model rows = read_all(chains.engine, chains.chains().tables().chains);
  const int64_t fast = chains.used();
  CHECK(chains.counts().unsettled_bytes == chains.counts().chain_bytes);
  CHECK(TablePacker(chains.engine).tidy(chains.chains(), never));
  CHECK(chains.counts().unsettled_bytes == 0);
  CHECK(chains.used() < fast * 95 / 100);
  CHECK(read_all(chains.engine, chains.chains().tables().chains) == rows);
  test::require_clean(chains.engine, *chains.collection);

  SECTION("little that came since is left until somebody asks") {
    chains.overwrite(5);
    TablePacker(chains.engine).tidy(chains.chains(), never);
    CHECK(chains.counts().unsettled_bytes > 0);
    TablePacker(chains.engine, true).tidy(chains.chains(), never);
    CHECK(chains.counts().unsettled_bytes == 0);
  }
  SECTION("who was interrupted goes on where he was") {
    chains.overwrite(50);
    const int64_t before = chains.used();
    int asked = 0;
    for (int turns = 0; chains.counts().unsettled_bytes > 0; ++turns) {
      REQUIRE(turns < 100);
      // Between batches alone, so each turn does at least one.
      TablePacker(chains.engine).tidy(chains.chains(), [&] { return ++asked % 2 == 0; });
    }
    CHECK(asked > 4);
    CHECK(chains.used() < before);
    test::require_clean(chains.engine, *chains.collection);
  }
}

TEST_CASE("rows aren't moved below a checkpoint, where the engine would copy them to its history file") {
  constexpr int records = 10'000, row_bytes = 2'000;
  TemporaryDirectory directory;
  EngineOptions options = quiet(directory.path());
  options.cache_bytes = 10 << 20;  // half of what is moved
  Engine engine(options);
  const auto collection = engine.catalog().create("wiki.pages", {});
  base::Random random(7);
  for (int i = 0; i < records; ++i) {
    in_transaction(engine, [&](Transaction& transaction) {
      collection->records().insert(transaction, noise(random, row_bytes), transaction.next_stamp());
    });
  }
  engine.checkpoint();

  // The next one waits in its midst, as on a machine that has other things to do.
  WT_CONNECTION* const connection = engine.internals().connection.get();
  REQUIRE(connection->reconfigure(connection, "timing_stress_for_test=[checkpoint_slow]") == 0);
  std::thread checkpoint([&] { engine.checkpoint(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  TablePacker packer(engine);
  for (const bool back : {false, true}) packer.pack(collection->records().state().chains, back, never);
  checkpoint.join();
  REQUIRE(connection->reconfigure(connection, "timing_stress_for_test=[]") == 0);
  CHECK(packer.packed() == 2 * records);
  CHECK(std::filesystem::file_size(directory.path() + "/WiredTigerHS.wt") < 64 << 10);
}
