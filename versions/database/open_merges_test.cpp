#include "versions/database/open_merges.h"

#include <catch2/catch.hpp>

#include "base/varint.h"
#include "bson/json.h"
#include "storage/engine/engine.h"
#include "storage/testing/temporary_store.h"

using namespace versions;

namespace {

constexpr auto branch = static_cast<BranchId>(3);
constexpr storage::CollectionId collection = 7;

bool is_damage(const base::OperationError& error) {
  return error.code() == base::ErrorCode::data_corruption_detected;
}

struct Fixture {
  storage::TemporaryDirectory directory;
  storage::Engine engine{storage::test_options(directory.path())};
  OpenMerges merges{engine, 1};
  Table table{merges.table_name()};
  Transaction transaction{engine, Transaction::Mode::write};
  const Decision decision{
      .take = Decision::Take::document, .document = bson::json("{_id: 1, a: 2}").bytes(), .sides = merkle::sha256("sides")};

  Fixture() {
    merges.begin(transaction, branch, {.from = 300, .request = bson::json("{mergeBranch: 'dev'}")});
    merges.decide(transaction, branch, collection, "key", decision);
  }
  // Changes the rows from the key on, one or two, by `change`.
  void change_rows(size_t key_bytes, const std::function<Bytes(Bytes)>& change) {
    std::vector<std::pair<Bytes, Bytes>> rows;
    {
      auto cursor = table.cursor(transaction);
      while (cursor.next()) {
        if (cursor.key().size() == key_bytes) rows.emplace_back(cursor.key(), cursor.value());
      }
    }
    REQUIRE(!rows.empty());
    for (const auto& [key, value] : rows) table.put(transaction, key, change(value));
  }
};

const auto shorter = [](Bytes row) { return row.substr(0, row.size() - 3); };
const auto longer = [](const Bytes& row) { return row + "x"; };

}  // namespace

TEST_CASE("a merge that waits, and what was decided of it, are read as they were written") {
  Fixture f;
  const auto merge = f.merges.find(f.transaction, branch);
  REQUIRE(merge);
  CHECK(merge->from == 300);
  CHECK(merge->request.bytes() == bson::json("{mergeBranch: 'dev'}").bytes());
  const Decisions decisions = f.merges.decisions(f.transaction, branch, collection);
  REQUIRE(decisions.size() == 1);
  CHECK(decisions.at("key").document == f.decision.document);
  CHECK(decisions.at("key").sides == f.decision.sides);
  CHECK(f.merges.decided(f.transaction, branch, collection) == std::vector<Bytes>{"key"});
  const auto decision = f.merges.decision(f.transaction, branch, collection, "key");
  REQUIRE(decision);
  CHECK(decision->document == f.decision.document);
  CHECK_FALSE(f.merges.decision(f.transaction, branch, collection, "ke"));
}

TEST_CASE("decisions are counted while they are read, with their documents") {
  Fixture f;
  f.merges.decide(f.transaction, branch, collection, "other",
                  {.take = Decision::Take::document, .document = bson::json("{}").bytes(), .sides = {}});
  std::ptrdiff_t bytes = 0;
  int calls = 0;
  {
    KeptBytes kept([&](std::ptrdiff_t more) {
      bytes += more;
      ++calls;
    });
    f.merges.decisions(f.transaction, branch, collection, &kept);
    CHECK(calls == 2);
    CHECK(bytes > static_cast<std::ptrdiff_t>(f.decision.document.size() + 2 * sizeof(Decision)));
  }
  CHECK(bytes == 0);
}

TEST_CASE("damaged documents of a merge that waits are refused, not trusted") {
  for (const std::function<Bytes(Bytes)>& change : {std::function<Bytes(Bytes)>(shorter), std::function<Bytes(Bytes)>(longer)}) {
    Fixture f;
    f.change_rows(8, change);  // the request
    CHECK_THROWS_MATCHES(f.merges.find(f.transaction, branch), base::OperationError,
                         Catch::Predicate<base::OperationError>(is_damage));
    f.change_rows(8 + 8 + 3, change);  // the decision
    CHECK_THROWS_MATCHES(f.merges.decisions(f.transaction, branch, collection), base::OperationError,
                         Catch::Predicate<base::OperationError>(is_damage));
  }
}
