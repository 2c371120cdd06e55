#include <catch2/catch.hpp>

#include "bson/json.h"
#include "bson/keystring.h"
#include "storage/testing/temporary_store.h"
#include "storage/upkeep/validate.h"

using namespace storage;
using bson::json;

namespace {

struct Fixture {
  TemporaryDirectory directory;
  Store store{options(directory.path())};
  std::shared_ptr<Collection> collection = store.catalog().create("shop.orders", {});

  static StoreOptions options(const std::string& path) {
    StoreOptions options = test_options(path);
    options.dedup.enabled = false;
    return options;
  }
  Fixture() {
    store.catalog().create_indexes(collection, {parse_index_spec(json("{key: {n: 1}, name: 'n'}"))});
    in_transaction(store, [&](Transaction& t) {
      for (int i = 0; i < 20; ++i)
        collection->insert(t, json("{_id: " + std::to_string(i) + ", n: " + std::to_string(i % 5) + "}"));
    });
  }
  Bytes key(int n, RecordId record) const {
    bson::KeyString key;
    key.append(bson::Value(n));
    Bytes entry = key.bytes();
    base::append_be64(entry, static_cast<uint64_t>(record));
    return entry;
  }
  Table index() const { return collection->index("n")->table(); }
  Table records() const { return Table("records-" + std::to_string(collection->id())); }
};

bool reported(const ValidateReport& report, const std::string& text) {
  for (const std::string& error : report.errors) {
    if (error.find(text) != error.npos) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("validate names an index entry that is missing and one that leads nowhere") {
  Fixture f;
  CHECK(validate_collection(f.store, f.collection, true).valid);
  in_transaction(f.store, [&](Transaction& t) {
    f.index().remove(t, f.key(3, 4));
    f.index().put(t, f.key(3, 999), "");
    f.index().put(t, f.key(9, 5), "");
  });
  const ValidateReport report = validate_collection(f.store, f.collection, false);
  CHECK_FALSE(report.valid);
  CHECK(reported(report, "missing entry for record 4 in index n"));
  CHECK(reported(report, "dangling entry in index n for record 999"));
  CHECK(reported(report, "dangling entry in index n for record 5"));
  CHECK(report.errors.size() == 3);
  REQUIRE(report.missing_entries.size() == 1);
  CHECK(report.missing_entries[0].record == 4);
  CHECK(bson::to_shell(report.missing_entries[0].id) == "{ _id: 3 }");
  CHECK(bson::to_shell(report.missing_entries[0].values) == "{ n: 3 }");
  REQUIRE(report.extra_entries.size() == 2);
  CHECK(report.extra_entries[0].record == 999);
  CHECK(report.extra_entries[1].record == 5);
  CHECK(report.records == 20);
  CHECK(report.records_counted == 20);
  CHECK(report.indexes[0].valid);
  CHECK_FALSE(report.indexes[1].valid);
}

TEST_CASE("validate names an index entry that is too short to name a record") {
  Fixture f;
  in_transaction(f.store, [&](Transaction& t) { f.index().put(t, "x", ""); });
  const ValidateReport report = validate_collection(f.store, f.collection, false);
  CHECK_FALSE(report.valid);
  CHECK(reported(report, "dangling entry in index n for record 0"));
}

TEST_CASE("validate names a damaged record and goes on; a read of it is refused, no other") {
  Fixture f;
  in_transaction(f.store, [&](Transaction& t) {
    Bytes row(*f.records().get(t, record_key(7)));
    row.back() = static_cast<char>(row.back() ^ 0x40);
    row[row.size() / 2] = static_cast<char>(row[row.size() / 2] ^ 0x40);
    f.records().put(t, record_key(7), row);
    f.records().put(t, record_key(8), "?");
  });
  const ValidateReport report = validate_collection(f.store, f.collection, true);
  CHECK_FALSE(report.valid);
  CHECK(report.corrupt_records >= 2);
  CHECK(reported(report, "7"));
  CHECK(reported(report, "8"));
  Transaction transaction(f.store, Transaction::Mode::read);
  CHECK_THROWS_AS(f.collection->find(transaction, 7), base::OperationError);
  CHECK(f.collection->find(transaction, 9)->view()["_id"].to_int64() == 8);
}

TEST_CASE("a full validation can be stopped in the midst of a file, which stays as it was") {
  Fixture f;
  in_transaction(f.store, [&](Transaction& t) {
    for (int i = 20; i < 20'000; ++i)
      f.collection->insert(t, json("{_id: " + std::to_string(i) + ", n: " + std::to_string(i) + "}"));
  });
  f.store.engine().checkpoint();
  struct Stopped {};
  int asked = 0, stop_at = 0;
  const auto validate = [&](bool full) {
    asked = 0;
    return validate_collection(f.store, f.collection, full, [&] {
      if (++asked == stop_at) throw Stopped();
    });
  };
  CHECK(validate(false).valid);
  const int by_records = asked;
  CHECK(validate(true).valid);
  const int by_blocks = asked - by_records;
  REQUIRE(by_blocks > 20);
  for (const int block : {1, by_blocks / 2, by_blocks}) {
    stop_at = by_records + block;
    CHECK_THROWS_AS(validate(true), Stopped);
  }
  stop_at = 0;
  CHECK(validate(true).valid);
}
