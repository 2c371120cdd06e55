#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <map>

#include "bson/builder.h"
#include "datasets/replay/acknowledged_log.h"
#include "datasets/replay/ledger.h"
#include "datasets/replay/trace.h"

namespace datasets::replay {
namespace {

TEST_CASE("the ledger knows each id's last state") {
  CHECK(rc::check("as a map does", [](const std::vector<std::pair<uint8_t, uint8_t>>& writes) {
    Ledger ledger;
    std::map<uint64_t, uint64_t> model;
    for (const auto& [id, document] : writes) {
      ledger.add(id, document);
      if (document == removed_hash)
        model.erase(id);
      else
        model[id] = document;
    }
    ledger.settle();
    RC_ASSERT(ledger.size() == model.size());
    for (int round = 0; round < 2; ++round) {
      ledger.begin_check();
      uint64_t right = 0;
      for (const auto& [id, document] : model) {
        if (right % 3 == 2) break;
        RC_ASSERT(ledger.check(id, document) == Ledger::Answer::matches);
        RC_ASSERT(ledger.check(id, document) == Ledger::Answer::seen_before);
        ++right;
      }
      RC_ASSERT(ledger.missing() == model.size() - right);
      RC_ASSERT(ledger.check(1000, 1) == Ledger::Answer::unknown);
    }
  }));
}

TEST_CASE("a changed byte is a different document") {
  bson::Builder a, b;
  a.append("_id", 1).append("text", "one");
  b.append("_id", 1).append("text", "two");
  Ledger ledger;
  const bson::Document first = a.done(), second = b.done();
  const uint64_t id = id_hash("notes", first.find("_id"));
  CHECK(id != id_hash("other", first.find("_id")));
  ledger.add(id, document_hash(first));
  ledger.settle();
  ledger.begin_check();
  CHECK(ledger.check(id, document_hash(second)) == Ledger::Answer::differs);
}

TEST_CASE("acknowledged writes are written and read back as lines") {
  for (const auto& id :
       {bson::Value(int64_t{1} << 40), bson::Value("a {b} c"), bson::Value(2.5), bson::Value(bson::ObjectId::generate())}) {
    const auto read =
        from_line(std::string_view(to_line({0x00ff00ff12345678, "notes", id})).substr(0, to_line({1, "notes", id}).size() - 1));
    REQUIRE(read);
    CHECK(read->document == 0x00ff00ff12345678);
    CHECK(read->collection == "notes");
    CHECK(read->id.view().identical(id.view()));
  }
  const auto removed = from_line("---------------- notes {\"_id\": 1}");
  REQUIRE(removed);
  CHECK(removed->document == removed_hash);
  for (const char* bad : {"", "0000000000000001", "000000000000000g notes {\"_id\": 1}",
                          "0000000000000001 notes {\"_id\": ", "0000000000000001 notes {}"})
    CHECK(!from_line(bad));
}

TEST_CASE("most reads ask for a popular page's latest revision") {
  Popularity popularity(5);
  CHECK(!popularity.next_read());
  for (int64_t revision = 0; revision < 1000; ++revision)
    popularity.written("revisions", static_cast<uint64_t>(revision % 100), bson::Value(revision));
  int latest = 0, first_pages = 0, writes = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto wanted = popularity.next_read();
    REQUIRE(wanted);
    latest += wanted->id.to_int64() >= 900;
    first_pages += wanted->id.to_int64() % 100 < 10;
    writes += popularity.next_is_write();
  }
  CHECK(latest > 9900);
  CHECK(first_pages > 4000);  // a tenth of the pages
  CHECK(writes > 0);
  CHECK(writes < 40);
}

}  // namespace
}  // namespace datasets::replay
