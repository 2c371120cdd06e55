// These tests check that dictionaries are read as they were written, that damaged ones are refused, and that pages outlive
// restarts.
#include "storage/format/page_compressor.h"
#include "storage/contents/contents.h"
#include "storage/upkeep/validate.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "bson/builder.h"
#include "storage/background/dedup_service.h"
#include "storage/engine/internals.h"
#include "storage/testing/temporary_store.h"
#include "storage/testing/test_support.h"

using namespace storage;
using namespace storage::test;
namespace fs = std::filesystem;

namespace {

// Makes letters that differ but have phrases in common.
std::vector<Bytes> letters(base::Random& random, size_t count) {
  std::vector<std::string> phrases;
  for (int i = 0; i < 50; ++i) phrases.push_back(words(random, 60));
  std::vector<Bytes> out;
  for (size_t i = 0; i < count; ++i) {
    Bytes text;
    for (int parts = 0; parts < 6; ++parts) text += phrases[random.below(phrases.size())] + words(random, 40);
    out.push_back(text);
  }
  return out;
}

Bytes read_whole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}
void write_whole(const std::string& path, BytesView bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

struct Filled {
  TemporaryDirectory directory;
  std::vector<Bytes> texts;
  CollectionId id = 0;

  StoreOptions options() const {
    StoreOptions options = test_options(directory.path());
    return options;
  }
  std::string copy() const { return directory.path() + "/pages-" + std::to_string(id) + "-copy.dict"; }
  std::string file() const { return directory.path() + "/pages-" + std::to_string(id) + ".dict"; }

  // Inserts enough rows for a dictionary, and packs them into pages that use it.
  explicit Filled(base::Random& random) : texts(letters(random, 12000)) {
    Store store(options());
    const auto collection = store.catalog().create("shop.letters", {});
    id = collection->id();
    for (size_t begin = 0; begin < texts.size(); begin += 1000) {
      in_transaction(store, [&](Transaction& transaction) {
        for (size_t i = begin; i < std::min(begin + 1000, texts.size()); ++i) {
          bson::Builder document;
          document.append("_id", static_cast<int64_t>(i)).append("text", texts[i]);
          collection->insert(transaction, document.done());
        }
      });
    }
    store.dedup().drain(true);
    REQUIRE(store.contents().page_compressors.dictionaries(id) == 1);
    store.engine().checkpoint();
  }

  void check(Store& store) const {
    const auto collection = store.catalog().open("shop.letters");
    Transaction transaction(store, Transaction::Mode::read);
    const auto scan = collection->scan(transaction, Direction::forward);
    size_t at = 0;
    for (; scan->next(); ++at) REQUIRE(scan->document()["text"].as_string() == texts.at(at));
    REQUIRE(at == texts.size());
  }
};

}  // namespace

TEST_CASE("dictionaries are read back from their file, and a damaged file is refused") {
  base::Random random(1);
  std::vector<Bytes> dictionaries;
  for (uint32_t number = 1; number <= 3; ++number) {
    dictionaries.push_back(train_dictionary(letters(random, 500), 8 << 10, number));
    REQUIRE(!dictionaries.back().empty());
  }
  const Bytes file = write_dictionaries(dictionaries);
  REQUIRE(read_dictionaries(file).value() == dictionaries);
  REQUIRE(read_dictionaries(write_dictionaries({})).value().empty());
  for (int i = 0; i < 2000; ++i) {
    Bytes damaged = file;
    if (random.below(4) == 0) {
      damaged.resize(random.below(file.size()));
    } else {
      damaged[random.below(file.size())] ^= static_cast<char>(1 + random.below(255));
    }
    REQUIRE(!read_dictionaries(damaged));
  }
}

TEST_CASE("A file of dictionaries of another version is refused as that, and stays") {
  base::Random random(4);
  const Filled filled(random);
  Bytes newer = read_whole(filled.file());
  newer.resize(newer.size() - sizeof(uint64_t));
  newer[4] = 2;
  base::append_le(newer, base::hash64(newer));
  for (const std::string& file : {filled.file(), filled.copy()}) write_whole(file, newer);
  try {
    Store store(filled.options());
    FAIL("it is opened");
  } catch (const base::OperationError& error) {
    REQUIRE(error.code() == base::ErrorCode::unsupported_format);
  }
  REQUIRE(read_whole(filled.file()) == newer);
}

TEST_CASE("Samples that are too few make no dictionary") {
  REQUIRE(train_dictionary({"one", "two"}, 8 << 10, 1).empty());
}

TEST_CASE("Packed pages share a dictionary and are read after a restart") {
  base::Random random(2);
  const Filled filled(random);
  {
    Store store(filled.options());
    REQUIRE(store.contents().page_compressors.dictionaries(filled.id) == 1);
    filled.check(store);
    const auto collection = store.catalog().open("shop.letters");
    REQUIRE(validate_collection(store, collection, true).valid);
  }
}

TEST_CASE("A directory without a collection's dictionaries is refused by the collection's number") {
  base::Random random(3);
  const Filled filled(random);
  const Bytes whole = read_whole(filled.file());
  const auto refused = [&] {
    try {
      Store store(filled.options());
    } catch (const base::OperationError& error) {
      REQUIRE(error.code() == base::ErrorCode::data_corruption_detected);
      return std::string(error.what()).find("collection " + std::to_string(filled.id)) != std::string::npos;
    }
    return false;
  };
  fs::remove(filled.file());
  fs::remove(filled.copy());
  REQUIRE(refused());
  write_whole(filled.file(), BytesView(whole).substr(0, whole.size() / 2));
  REQUIRE(refused());
  write_whole(filled.file(), whole);
  Store store(filled.options());
  filled.check(store);
}

TEST_CASE("A damaged file of dictionaries is restored from its copy, and a lost copy is made anew") {
  base::Random random(9);
  const Filled filled(random);
  const Bytes whole = read_whole(filled.file());
  for (const std::string& file : {filled.file(), filled.copy()}) {
    write_whole(file, BytesView(whole).substr(0, whole.size() / 2));
    Store store(filled.options());
    filled.check(store);
    REQUIRE(read_whole(filled.file()) == whole);
    REQUIRE(read_whole(filled.copy()) == whole);
  }
}

TEST_CASE("A dictionary file that was lost while the engine runs is written again") {
  base::Random random(4);
  const Filled filled(random);
  Store store(filled.options());
  const Bytes whole = read_whole(filled.file());
  fs::remove(filled.file());
  const auto report = validate_collection(store, store.catalog().open("shop.letters"), true);
  REQUIRE(report.valid);
  REQUIRE(!report.warnings.empty());
  REQUIRE(read_whole(filled.file()) == whole);
}

TEST_CASE("The dictionaries of a dropped collection go with it") {
  base::Random random(5);
  const Filled filled(random);
  {
    Store store(filled.options());
    filled.check(store);
    store.catalog().drop("shop.letters");
  }
  { Store store(filled.options()); }  // a file that was still in use is removed at the next start
  REQUIRE(!fs::exists(filled.file()));
  REQUIRE(!fs::exists(filled.copy()));
}

TEST_CASE("A copy of the open directory opens with the dictionaries that its pages need") {
  base::Random random(6);
  const Filled filled(random);
  TemporaryDirectory copy;
  {
    Store store(filled.options());
    filled.directory.copy_to(copy);
  }
  Store store(test_options(copy.path()));
  filled.check(store);
}
