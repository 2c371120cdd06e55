// Errors about damaged pages say what can't be read in words that lead to it.
#include <catch2/catch.hpp>
#include <filesystem>

#include "base/random.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "storage/background/dedup_service.h"
#include "storage/collections/catalog.h"
#include "storage/testing/damage.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;

namespace {

constexpr char ns[] = "shop.orders";
constexpr int documents = 3000;

// The record of document {_id: i} is i + 1.
void fill(const std::string& path) {
  Store store(test_options(path));
  const auto collection = store.catalog().create(ns, {});
  store.catalog().create_indexes(collection, {parse_index_spec(bson::json("{key: {n: 1}, name: 'by_n'}"))});
  base::Random random(5);
  for (int i = 0; i < documents; ++i) {
    bson::Builder made;
    made.append("_id", i).append("n", i).append("text", words(random, 200));
    const auto document = made.done();
    in_transaction(store, [&](Transaction& t) { collection->insert(t, document); });
  }
}

std::vector<FileBlock> leaves(const std::string& file) {
  std::vector<FileBlock> blocks = file_blocks(file);
  std::erase_if(blocks, [](const FileBlock& block) { return !block.leaf; });
  return blocks;
}

template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::data_corruption_detected);
    return error.what();
  }
  return {};
}

std::string neighbours(RecordId above, RecordId below) {
  const auto one = [](RecordId record) {
    return "record " + std::to_string(record) + " ({ _id: " + std::to_string(record - 1) + " })";
  };
  return "the rows that can't be read lie between " + one(above) + " and " + one(below);
}

}  // namespace

TEST_CASE("an error about a damaged page names the collection and the records around it") {
  TemporaryDirectory directory;
  fill(directory.path());
  const std::string file = directory.path() + "/records-1.wt";
  REQUIRE(std::filesystem::exists(file));
  const auto pages = leaves(file);
  REQUIRE(pages.size() > 6);
  flip_byte(file, pages[3].offset + 50);
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().open(ns);
  std::map<RecordId, std::string> errors;
  for (RecordId record = 1; record <= documents; ++record) {
    Transaction transaction(store, Transaction::Mode::read);
    const std::string error = error_of([&] {
      const bool there = collection->find(transaction, record, nullptr).has_value();
      CHECK(there);
    });
    if (!error.empty()) errors[record] = error;
  }
  REQUIRE(errors.size() > 2);
  const RecordId above = errors.begin()->first - 1, below = errors.rbegin()->first + 1;
  CHECK(below - above - 1 == static_cast<RecordId>(errors.size()));
  for (const auto& [record, error] : errors) {
    CHECK_THAT(error, Catch::Contains("collection shop.orders") && Catch::Contains(neighbours(above, below)));
  }
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = collection->scan(transaction, direction);
    const std::string error = error_of([&] {
      while (scan->next()) scan->document();
    });
    CHECK_THAT(error, Catch::Contains("collection shop.orders") && Catch::Contains(neighbours(above, below)));
  }
}

TEST_CASE("an error about a page at the end of a collection says what lies before it") {
  TemporaryDirectory directory;
  fill(directory.path());
  const std::string file = directory.path() + "/records-1.wt";
  RecordId above = documents;
  for (const FileBlock& page : leaves(file)) {
    // Damage to each page in turn shows which of them has the last record.
    flip_byte(file, page.offset + 50);
    Store store(test_options(directory.path()));
    const auto collection = store.catalog().open(ns);
    Transaction transaction(store, Transaction::Mode::read);
    const std::string error = error_of([&] { collection->find(transaction, documents, nullptr); });
    if (error.empty()) continue;
    while (above > 0 && !error_of([&] { collection->find(transaction, above, nullptr); }).empty()) --above;
    CHECK_THAT(error, above > 0 ? Catch::Contains("the rows that can't be read lie behind record " + std::to_string(above))
                                : Catch::Contains("the rows that can't be read are all rows of the table"));
    return;
  }
  FAIL("no page has the last record");
}

TEST_CASE("an error about a damaged page of an index names the index") {
  TemporaryDirectory directory;
  fill(directory.path());
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    if (!entry.path().filename().string().starts_with("index-1-")) continue;
    for (const FileBlock& page : leaves(entry.path())) flip_byte(entry.path(), page.offset + 50);
  }
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().open(ns);
  Transaction transaction(store, Transaction::Mode::read);
  const auto scan = collection->scan(transaction, *collection->index("by_n"), Direction::forward);
  CHECK_THAT(error_of([&] {
               scan->seek({});
               scan->next();
             }),
             Catch::Contains("of index by_n of collection shop.orders"));
  CHECK_THAT(error_of([&] { collection->find_id(transaction, bson::json("{_id: 7}")["_id"]); }),
             Catch::Contains("of index _id_ of collection shop.orders"));
}

TEST_CASE("an error about a damaged page of chains names the record that can't be read") {
  TemporaryDirectory directory;
  fill(directory.path());
  {
    // Deltas take the places of most contents.
    Store store(test_options(directory.path()));
    const auto collection = store.catalog().open(ns);
    base::Random random(6);
    std::string text = words(random, 2000);
    for (int i = 0; i < 60; ++i) {
      text.replace(random.below(1900), 10, words(random, 3));
      bson::Builder made;
      made.append("_id", documents + i).append("text", text);
      const auto document = made.done();
      in_transaction(store, [&](Transaction& t) { collection->insert(t, document); });
    }
    store.dedup().drain(true);
  }
  const std::string file = directory.path() + "/chains-1.wt";
  for (const FileBlock& page : leaves(file)) flip_byte(file, page.offset + 50);
  Store store(test_options(directory.path()));
  const auto collection = store.catalog().open(ns);
  int named = 0;
  for (RecordId record = documents + 1; record <= documents + 60; ++record) {
    Transaction transaction(store, Transaction::Mode::read);
    const std::string error = error_of([&] { collection->find(transaction, record, nullptr); });
    if (error.empty()) continue;
    ++named;
    CHECK_THAT(error, Catch::StartsWith("record " + std::to_string(record) + " of collection shop.orders cannot be read"));
  }
  CHECK(named > 10);
}
