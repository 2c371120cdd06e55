#include "storage/upkeep/check.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/collections/catalog.h"
#include "storage/testing/damage.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

namespace fs = std::filesystem;

namespace {

constexpr int documents = 2000;

void insert(Store& store, const std::string& ns, int first, int count) {
  const auto collection = store.catalog().open_or_create(ns);
  base::Random random(static_cast<uint64_t>(first) + 1);
  for (int i = first; i < first + count; ++i)
    in_transaction(store, [&](Transaction& transaction) { collection->insert(transaction, document(i, words(random, 300))); });
}

std::map<std::string, std::string> files_of(const std::string& directory) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ostringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    found[entry.path().string()] = bytes.str();
  }
  return found;
}

CheckReport check(const std::string& directory) {
  const TemporaryDirectory scratch;
  const OfflineHold hold(directory);
  const auto before = files_of(directory);
  CheckReport report = check_directory({.clock = base::system_clock(),
                                        .directory = directory,
                                        .scratch = scratch.path(),
                                        .encryption = {},
                                        .open_layers = nullptr,
                                        .progress = nullptr});
  CHECK(files_of(directory) == before);
  return report;
}

}  // namespace

TEST_CASE("a sound directory is sound, and stays as it is") {
  const TemporaryDirectory directory;
  {
    Store store(test_options(directory.path()));
    insert(store, "shop.orders", 0, documents);
    insert(store, "shop.people", 0, 10);
  }
  const CheckReport report = check(directory.path());
  CHECK(report.sound());
  REQUIRE(report.collections.size() == 2);
  CHECK(report.collections[0].ns == "shop.orders");
  CHECK(report.documents == documents + 10);
  CHECK(report.collections[0].report.errors.empty());
}

TEST_CASE("after a loss of the process, what the journal has is there, and the directory stays as it is") {
  const TemporaryDirectory directory, lost;
  {
    Store store(test_options(directory.path()));
    insert(store, "shop.orders", 0, 100);
    store.engine().checkpoint();
    insert(store, "shop.orders", 100, 50);
    store.engine().wait_durable();
    directory.copy_to(lost);
  }
  const CheckReport report = check(lost.path());
  CHECK(report.sound());
  CHECK(report.documents == 150);
  Store store(test_options(lost.path()));  // recovery is still to be done
  CHECK(store.catalog().open("shop.orders")->record_count() == 150);
}

TEST_CASE("damaged documents are named by their _id") {
  const TemporaryDirectory directory;
  {
    Store store(test_options(directory.path()));
    insert(store, "shop.orders", 0, documents);
    insert(store, "shop.people", 0, 10);
  }
  const std::string file = directory.path() + "/records-1.wt";
  REQUIRE(fs::exists(file));
  std::vector<FileBlock> pages = file_blocks(file);
  std::erase_if(pages, [](const FileBlock& block) { return !block.leaf; });
  REQUIRE(pages.size() > 3);
  flip_byte(file, pages[2].offset + 50);
  const CheckReport report = check(directory.path());
  CHECK_FALSE(report.sound());
  REQUIRE(report.collections.size() == 2);
  CHECK_FALSE(report.collections[0].report.valid);
  CHECK(report.collections[1].report.valid);
  REQUIRE(!report.collections[0].damaged.empty());
  for (const DamagedDocument& one : report.collections[0].damaged) {
    CHECK(one.id.view()["_id"].to_int64() == one.record - 1);
    CHECK_FALSE(one.why.empty());
  }
}

TEST_CASE("a directory in use, and one that is none, aren't checked") {
  const TemporaryDirectory directory, empty;
  const auto code_of = [](const std::string& path) { return base::testing::code_of([&] { const OfflineHold hold(path); }); };
  CHECK(code_of(empty.path()) == static_cast<int>(base::ErrorCode::no_such_key));
  {
    Store store(test_options(directory.path()));
    insert(store, "shop.orders", 0, 1);
  }
  CHECK(code_of(directory.path()) == 0);
}
