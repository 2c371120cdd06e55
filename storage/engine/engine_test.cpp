#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/engine/directory.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using base::testing::error_of;

TEST_CASE("what was committed survives the loss of the process") {
  TemporaryDirectory directory, copy;
  Store store(test_options(directory.path()));
  const Table table = store.engine().open_table("things");
  for (int i = 0; i < 100; ++i) {
    in_transaction(store, [&](Transaction& transaction) { table.put(transaction, std::to_string(i), Bytes(1000, 'x')); });
  }
  directory.copy_to(copy);
  Store second(test_options(copy.path()));
  Transaction reader(second, Transaction::Mode::read);
  for (int i = 0; i < 100; ++i) CHECK(Table("things").get(reader, std::to_string(i)).has_value());
}

TEST_CASE("a directory opens whose first start was lost in the midst of the engine's first draft") {
  TemporaryDirectory whole;
  const std::string turtle = whole.path() + "/WiredTiger.turtle";
  {
    Store store(test_options(whole.path()));
    const Table table = store.engine().open_table("things");
    in_transaction(store, [&](Transaction& transaction) { table.put(transaction, "key", "value"); });
  }
  std::ifstream in(turtle, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  base::Random random(11);
  const size_t key_ends = text.find("file:WiredTiger.wt\n") + std::strlen("file:WiredTiger.wt\n");
  REQUIRE(key_ends < text.size());
  for (const size_t bytes : {size_t{0}, size_t{1}, key_ends - 1, key_ends, text.size() - 1, random.below(text.size())}) {
    INFO(bytes << " bytes");
    TemporaryDirectory lost;
    std::filesystem::copy_file(whole.path() + "/palimpsest.json", lost.path() + "/palimpsest.json");
    std::ofstream(lost.path() + "/WiredTiger.turtle.set", std::ios::binary) << text.substr(0, bytes);
    Store store(test_options(lost.path()));
    CHECK(store.engine().open_table("things").exists());
  }
  // A whole draft takes the file's place.
  std::filesystem::rename(turtle, turtle + ".set");
  Store store(test_options(whole.path()));
  Transaction reader(store, Transaction::Mode::read);
  CHECK(Table("things").get(reader, "key") == "value");
}

TEST_CASE("a table that was half made when the process ended is no table") {
  TemporaryDirectory directory;
  {
    Store store(test_options(directory.path()));
    in_transaction(store, [table = store.engine().open_table("things")](Transaction& transaction) {
      table.put(transaction, "key", "value");
    });
    // WiredTiger writes the table first, then its columns.
    const wt::Session session = store.engine().internals().connection.open_session();
    wt::check(session->create(session.get(), "table:half", "columns=(key,value),colgroups=(never),key_format=u,value_format=u"),
              "making half a table");
  }
  Store store(test_options(directory.path()));
  const auto names = store.engine().table_names();
  CHECK(std::find(names.begin(), names.end(), "half") == names.end());
  CHECK(std::find(names.begin(), names.end(), "things") != names.end());
  const Table made = store.engine().open_table("half");
  in_transaction(store, [&](Transaction& transaction) { made.put(transaction, "key", "value"); });
  Transaction reader(store, Transaction::Mode::read);
  CHECK(made.get(reader, "key").has_value());
}

TEST_CASE("everyone who waits for durability is called back") {
  TemporaryDirectory directory;
  std::atomic<int> called{0};
  {
    Store store(test_options(directory.path()));
    const Table table = store.engine().open_table("things");
    for (int i = 0; i < 50; ++i) {
      in_transaction(store, [&](Transaction& transaction) { table.put(transaction, "k", std::to_string(i)); });
      store.engine().when_durable([&] { ++called; });
    }
    store.engine().wait_durable();
    CHECK(called == 50);
    store.engine().when_durable([&] { ++called; });
  }
  CHECK(called == 51);
}

TEST_CASE("a repair restores a missing or damaged marker from its copy") {
  const Bytes damage = GENERATE(Bytes(), Bytes("\0\0\0", 3), Bytes("{\"format\": \"palimpsest\", \"versi"));
  TemporaryDirectory directory;
  { Store store(test_options(directory.path())); }
  const std::string marker = directory.path() + "/palimpsest.json";
  std::filesystem::remove(marker);
  if (!damage.empty()) std::ofstream(marker) << damage;
  CHECK(error_of([&] { Store store(test_options(directory.path())); }) == base::ErrorCode::unsupported_format);
  StoreOptions options = test_options(directory.path());
  options.salvage = true;
  { Store store(options); }
  Store store(test_options(directory.path()));
}

TEST_CASE("a directory of another version or of another server is refused and left alone") {
  std::string message;
  SECTION("newer version") {
    TemporaryDirectory directory;
    { Store store(test_options(directory.path())); }
    std::ofstream(directory.path() + "/palimpsest.json") << "{\"format\": \"palimpsest\", \"version\": 999}\n";
    CHECK(error_of([&] { Store store(test_options(directory.path())); }, &message) == base::ErrorCode::unsupported_format);
    CHECK(message.find("format version 999") != message.npos);
    StoreOptions options = test_options(directory.path());
    options.salvage = true;
    CHECK(error_of([&] { Store store(options); }) == base::ErrorCode::unsupported_format);
  }
  SECTION("damaged marker") {
    TemporaryDirectory directory;
    std::ofstream(directory.path() + "/palimpsest.json") << "\0\0\0";
    CHECK(error_of([&] { Store store(test_options(directory.path())); }) == base::ErrorCode::unsupported_format);
  }
  SECTION("another server's files") {
    TemporaryDirectory directory;
    std::ofstream(directory.path() + "/WiredTiger") << "WiredTiger";
    CHECK(error_of([&] { Store store(test_options(directory.path())); }, &message) == base::ErrorCode::unsupported_format);
    CHECK(message.find("WiredTiger files") != message.npos);
    CHECK_FALSE(std::filesystem::exists(directory.path() + "/palimpsest.json"));
  }
  SECTION("somebody's letters") {
    TemporaryDirectory directory;
    std::ofstream(directory.path() + "/letter.odt") << "Dear";
    CHECK(error_of([&] { Store store(test_options(directory.path())); }) == base::ErrorCode::unsupported_format);
  }
  SECTION("a log file is no hindrance") {
    TemporaryDirectory directory;
    std::ofstream(directory.path() + "/server.log") << "line";
    CHECK(error_of([&] { Store store(test_options(directory.path())); }) == base::ErrorCode::ok);
  }
  SECTION("a first start that was killed while it wrote the marker is no hindrance") {
    TemporaryDirectory directory;
    std::ofstream(directory.path() + "/palimpsest.json.new") << "{\"form";
    CHECK(error_of([&] { Store store(test_options(directory.path())); }) == base::ErrorCode::ok);
  }
}

TEST_CASE("a file that can't be written leaves no draft") {
  TemporaryDirectory directory;
  std::filesystem::create_directory(directory.path() + "/taken");
  CHECK(error_of([&] { write_file(directory.path(), "taken", "text"); }) == base::ErrorCode::internal_error);
  CHECK_FALSE(std::filesystem::exists(directory.path() + "/taken.new"));
}

TEST_CASE("a directory that is open already is refused") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  CHECK(static_cast<int>(error_of([&] { Store second(test_options(directory.path())); })) == 98);
}

TEST_CASE("a directory with a file missing opens, and what needs the file says which") {
  TemporaryDirectory directory;
  {
    Store store(test_options(directory.path()));
    store.catalog().create("shop.orders", {});
    store.catalog().create("shop.others", {});
  }
  std::filesystem::remove(directory.path() + "/records-1.wt");
  Store store(test_options(directory.path()));
  const auto insert = [&](std::string_view ns) {
    in_transaction(store, [&](Transaction& transaction) {
      transaction.expect_stamps(1);
      store.catalog().open(ns)->insert(transaction, bson::json("{_id: 1}"));
    });
  };
  std::string message;
  CHECK(error_of([&] { insert("shop.orders"); }, &message) == base::ErrorCode::data_corruption_detected);
  CHECK(message.find("records-1") != message.npos);
  CHECK(message.find("shop.orders") != message.npos);
  insert("shop.others");
}

TEST_CASE("the engine's figures come in groups") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  bson::Builder out;
  store.engine().append_stats(out);
  const bson::Document stats = out.done();
  CHECK(stats["cache"].as_document()["bytes currently in the cache"].to_int64() > 0);
  CHECK(stats["log"].is_object());
}

TEST_CASE("what was changed stays in memory until the next checkpoint, as long as it is less than half of that") {
  constexpr int tables = 8, rows = 512;
  constexpr int64_t changed = 4 << 20;  // each table changes so many bytes: fewer than a page has when it is split
  TemporaryDirectory directory;
  StoreOptions options = test_options(directory.path());
  options.cache_bytes = 100 << 20;
  options.checkpoint_seconds = 1'000'000;  // a slow machine needs long for what follows
  Store store(options);
  for (int round = 0; round < 3; ++round) {
    for (int number = 0; number < tables; ++number) {
      const Table table = store.engine().open_table("things" + std::to_string(number));
      for (int i = 0; i < rows; ++i) {
        in_transaction(store,
                       [&](Transaction& transaction) { table.put(transaction, std::to_string(i), Bytes(changed / rows, 'x')); });
      }
    }
  }
  // The engine would write pages in this time. While it has nothing to write, nothing that it counts moves, so no condition shows
  // that it had its chance. On a slow machine the test may miss a fault, but it doesn't fail without one.
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  bson::Builder out;
  store.engine().append_stats(out);
  CHECK(out.done()["cache"].as_document()["tracked dirty bytes in the cache"].to_int64() >= tables * changed);
}

TEST_CASE("statistics count checkpoints where tools look for them") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const auto counted = [&store] {
    bson::Builder out;
    store.engine().append_stats(out);
    return out.done()["transaction"].as_document()["transaction checkpoints"].to_int64();
  };
  const int64_t before = counted();
  store.engine().checkpoint();
  CHECK(counted() > before);
}

TEST_CASE("a table that was dropped, before or meanwhile, is compacted as nothing") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  for (int round = 0; round < 20; ++round) {
    const std::string name = "things" + std::to_string(round);
    const Table table = store.engine().open_table(name);
    in_transaction(store, [&](Transaction& transaction) { table.put(transaction, "a", Bytes(100'000, 'x')); });
    std::thread dropper([&] { store.engine().drop_table(name); });
    for (int i = 0; i < 10; ++i) CHECK_NOTHROW(store.engine().compact(name));
    dropper.join();
    CHECK_NOTHROW(store.engine().compact(name));
  }
}

TEST_CASE("a table that lost all its rows gives its file back") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  const Table table = store.engine().open_table("things");
  base::Random random(7);
  for (int i = 0; i < 200; ++i) {
    Bytes noise(50'000, ' ');
    for (char& c : noise) c = static_cast<char>(random());
    in_transaction(store, [&](Transaction& transaction) { table.put(transaction, record_key(i + 1), noise); });
  }
  store.engine().checkpoint();
  REQUIRE(store.engine().file_bytes("things") > 8'000'000);
  in_transaction(store, [&](Transaction& transaction) {
    for (int i = 0; i < 200; ++i) table.remove(transaction, record_key(i + 1));
  });
  for (int i = 0; i < 3; ++i) store.engine().checkpoint();
  store.engine().compact("things");
  CHECK(store.engine().file_bytes("things") < 1'000'000);
  Transaction transaction(store, Transaction::Mode::read);
  CHECK_FALSE(table.cursor(transaction).next());
}
