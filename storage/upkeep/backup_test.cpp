#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/engine/engine_files.h"
#include "storage/testing/test_support.h"
#include "storage/upkeep/backup.h"
#include "storage/upkeep/validate.h"

using namespace storage;
using storage::test::document;
using storage::test::edited;
using storage::test::require_clean;
using storage::test::words;

namespace fs = std::filesystem;

namespace {

constexpr uint64_t read_bytes = 100'000;

void copy_into(const Backup& backup, const std::string& target) {
  for (const BackupFile& file : backup.files()) {
    const fs::path path = fs::path(target) / file.name;
    fs::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary);
    for (uint64_t at = 0; at < file.bytes;) {
      const Bytes part = backup.read(file.name, at, read_bytes);
      REQUIRE(!part.empty());
      out << part;
      at += part.size();
    }
    REQUIRE(out.flush());
  }
}

const std::vector<std::string> counted = {"shop.a", "shop.b", "shop.c"};

void set_counters(Store& store, int64_t number) {
  in_transaction(store, [&](Transaction& transaction) {
    for (const std::string& ns : counted) {
      const auto collection = store.catalog().open(ns);
      std::shared_lock lock(collection->schema_mutex());
      const auto record = collection->find_id(transaction, bson::json("{_id: 0}").find("_id"));
      const bson::Document after = document(0, std::to_string(number));
      if (!record) {
        collection->insert(transaction, after);
      } else {
        collection->update(transaction, *record, *collection->find(transaction, *record), after);
      }
    }
  });
}

int64_t counter(Store& store, const std::string& ns) {
  const auto collection = store.catalog().open(ns);
  REQUIRE(collection);
  Transaction transaction(store, Transaction::Mode::read);
  const auto record = collection->find_id(transaction, bson::json("{_id: 0}").find("_id"));
  REQUIRE(record);
  return std::stoll(std::string((*collection->find(transaction, *record))["text"].as_string()));
}

void write_revisions(Store& store, const std::string& ns, uint64_t seed, int count, int64_t from) {
  base::Random random(seed);
  std::string text = words(random, 6000);
  const auto collection = store.catalog().open_or_create(ns);
  for (int i = 0; i < count; ++i) {
    text = edited(random, text);
    in_transaction(store, [&](Transaction& transaction) { collection->insert(transaction, document(from + i, text)); });
  }
}

int64_t deltas(Store& store, Collection& collection) {
  Transaction transaction(store, Transaction::Mode::read);
  return check_chains(collection.records().state().chains, transaction, false).counts.stubs;
}

void validate_all(Store& store) {
  for (const std::string& db : store.catalog().databases()) {
    for (const auto& collection : store.catalog().collections(db)) {
      INFO(collection->ns());
      const ValidateReport report = validate_collection(store, collection, false);
      for (const std::string& error : report.errors) FAIL_CHECK(error);
      for (const std::string& warning : report.warnings) FAIL_CHECK(warning);
      CHECK(validate_collection(store, collection, true).valid);
      require_clean(store, *collection);
    }
  }
}

}  // namespace

TEST_CASE("a copy taken while everything changes is of one moment, sound, and goes on from there") {
  TemporaryDirectory source, target;
  int64_t before = 0, after = 0;
  {
    Store store(test_options(source.path()));
    for (const std::string& ns : counted) store.catalog().create(ns, {});
    set_counters(store, 0);
    write_revisions(store, "shop.revisions", 1, 150, 0);
    store.dedup().drain();
    std::atomic<int64_t> number = 0;
    std::atomic<bool> stop = false;
    std::thread counting([&] {
      while (!stop) set_counters(store, ++number);
    });
    std::thread inserting([&] {
      for (int round = 1; !stop; ++round) {
        write_revisions(store, "shop.revisions", static_cast<uint64_t>(round), 10, round * 1000);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    std::thread coming_and_going([&] {
      for (int round = 0; !stop; ++round) {
        const std::string ns = "shop.gone" + std::to_string(round % 3);
        store.catalog().open_or_create(ns);
        write_revisions(store, ns, 7, 5, round * 10);
        store.catalog().drop(ns);
      }
    });
    std::thread checkpointing([&] {
      while (!stop) {
        store.engine().checkpoint();
        store.engine().compact("records-" + std::to_string(store.catalog().open("shop.revisions")->id()));
      }
    });
    REQUIRE(base::testing::wait_until([&] { return number > 5; }));
    {
      before = number;
      const Backup backup(store);
      after = number + 1;
      REQUIRE(base::testing::wait_until([&] { return number > after + 10; }));  // the copy doesn't show that
      copy_into(backup, target.path());
      CHECK(backup.total_bytes() > 0);
    }
    stop = true;
    counting.join();
    inserting.join();
    coming_and_going.join();
    checkpointing.join();
    validate_all(store);
  }
  {
    Store copy(test_options(target.path()));
    const int64_t copied = counter(copy, counted[0]);
    CHECK(copied >= before);
    CHECK(copied <= after);
    for (const std::string& ns : counted) CHECK(counter(copy, ns) == copied);
    validate_all(copy);
    const auto collection = copy.catalog().open("shop.revisions");
    const int64_t deltas_before = deltas(copy, *collection);
    write_revisions(copy, "shop.revisions", 1, 100, 1'000'000'000);
    copy.dedup().drain();
    require_clean(copy, *collection);
    CHECK(deltas(copy, *collection) > deltas_before + 80);
  }
  Store again(test_options(target.path()));
  validate_all(again);
}

TEST_CASE("one backup at a time; the next can begin when it is gone") {
  TemporaryDirectory directory;
  Store store(test_options(directory.path()));
  {
    const Backup first(store);
    try {
      const Backup second(store);
      FAIL("a second backup was opened");
    } catch (const base::OperationError& error) {
      CHECK(static_cast<int32_t>(error.code()) == Backup::already_open);
    }
    CHECK(std::is_sorted(first.files().begin(), first.files().end(), [](auto& a, auto& b) { return a.name < b.name; }));
    const BackupFile& file = first.files().front();
    CHECK(first.read(file.name, 0, file.bytes + 10).size() == file.bytes);
    CHECK(first.read(file.name, file.bytes, 10).empty());
    CHECK_THROWS_AS(first.read(file.name, file.bytes + 1, 1), base::OperationError);
    CHECK_THROWS_AS(first.read("mongod.lock", 0, 1), base::OperationError);
    CHECK_THROWS_AS(first.read("../x.wt", 0, 1), base::OperationError);
  }
  const Backup next(store);
  CHECK(!next.files().empty());
}

TEST_CASE("a copy of a set's member has what is majority-committed, and all of the member's own log") {
  TemporaryDirectory source, target;
  StoreOptions options = test_options(source.path());
  options.replicated = true;
  Stamp committed = 0;
  {
    Store store(options);
    const Table data = store.engine().open_table("data"), log = store.engine().open_table("log", {.always_journaled = true});
    const auto put = [&](const Table& table, const std::string& key, bool stamped) {
      return in_transaction(store, [&](Transaction& transaction) {
        table.put(transaction, key, "value");
        return stamped ? transaction.next_stamp() : Stamp{0};
      });
    };
    for (int i = 0; i < 10; ++i) {
      put(log, "entry" + std::to_string(i), false);
      const Stamp stamp = put(data, "entry" + std::to_string(i), true);
      if (i == 5) store.engine().set_majority_committed(committed = stamp);
    }
    const Backup backup(store);
    CHECK(backup.checkpointed_stamp() == committed);
    put(log, "later", false);
    store.engine().set_majority_committed(put(data, "later", true));
    store.engine().checkpoint();
    copy_into(backup, target.path());
  }
  options.path = target.path();
  Store copy(options);
  CHECK(copy.engine().recovered_stamp() == committed);
  const auto rows = [&](const Table& table) {
    Transaction transaction(copy, Transaction::Mode::read);
    std::string keys;
    auto cursor = table.cursor(transaction);
    while (cursor.next()) keys.push_back(cursor.key().back());
    return keys;
  };
  CHECK(rows(copy.engine().open_table("data")) == "012345");
  CHECK(rows(copy.engine().open_table("log", {.always_journaled = true})) == "0123456789");
}

TEST_CASE("a process lost while a backup is open goes on from its newest checkpoint") {
  TemporaryDirectory directory;
  const pid_t child = ::fork();
  if (child == 0) {
    Store store(test_options(directory.path()));
    store.catalog().create("shop.a", {});
    const Backup backup(store);
    write_revisions(store, "shop.a", 3, 20, 0);
    store.engine().checkpoint();
    // The journal is removed: the checkpoint alone must be enough.
    for (const auto& file : fs::directory_iterator(directory.path() + "/journal")) fs::remove(file.path());
    std::_Exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(status == 0);
  CHECK_FALSE(fs::exists(directory.path() + "/WiredTiger.backup"));
  // A start without a journal is refused: it can't know that the checkpoint was the last thing that happened.
  StoreOptions options = test_options(directory.path());
  options.salvage = true;
  Store store(options);
  CHECK(store.catalog().open("shop.a")->record_count() == 20);
}

TEST_CASE("only the engine's own files are copied, and no name leads out of the directory") {
  for (const char* name : {"palimpsest.json", "palimpsest.unapplied", "pages-17.dict", "records-17.wt", "WiredTiger",
                           "WiredTiger.backup", "WiredTigerHS.wt", "journal/WiredTigerLog.0000000003"}) {
    CHECK(is_engine_file(name));
  }
  for (const char* name :
       {"", ".", "..", "../a.wt", "/a.wt", "a/b.wt", "journal/../a.wt", "journal/a.wt", "journal/", "_sync/a.wt", ".a.wt",
        "mongod.lock", "server.log", "WiredTiger.config", "rollback/x.wt", "a\\b.wt", "journal//WiredTigerLog.1"}) {
    INFO(name);
    CHECK_FALSE(is_engine_file(name));
  }
  CHECK_FALSE(is_engine_file(std::string("a\0b.wt", 6)));
  CHECK_FALSE(is_engine_file(std::string(300, 'a') + ".wt"));
}
