// These tests lose rows of what commits show, and compare what a repair rebuilds with what the commits showed before.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "storage/collections/collection.h"
#include "versions/branch/field_merge.h"
#include "versions/branch/mended_states.h"
#include "versions/database/test_shop.h"

using namespace versions;
using bson::json;

namespace {

const BranchedDatabase::Lost lost = [](Transaction&, storage::CollectionId, RecordId, Stamp, BytesView) {};

constexpr uint32_t database_number = 1;

using Documents = std::map<Bytes, Bytes>;  // by their keys

// Two branches with some commits each, and merges from one into the other. A few documents are older than the first branch, and
// some of their ids were free by then. Documents often get contents again that they had before.
struct History : test::Shop {
  History() {
    write_some("shop.things", 60);
    begin();
    create_dev();
  }

  void write_some(const std::string& ns, int writes) {
    for (int i = 0; i < writes; ++i) {
      const std::string id = std::to_string(random.below(30)), text = "text " + std::to_string(random.below(4));
      write(ns, json("{_id: " + id + ", text: '" + text + "'}"), random.below(3) == 0);
    }
  }
  void go_on(int commits) {
    for (int i = 0; i < commits; ++i) {
      const bool dev = random.below(2) == 0;
      write_some(dev ? "shop@dev.things" : "shop.things", 1 + static_cast<int>(random.below(8)));
      Shop::commit(dev ? "dev" : "main");
      if (random.below(5) == 0) merge();
    }
    for (const char* branch : {"main", "dev"}) Shop::commit(branch);
  }
  void merge() {
    for (const char* branch : {"main", "dev"}) Shop::commit(branch);
    change([&](Transaction& transaction) {
      const CommitNumber from = database->place(transaction, {.name = "dev"}).commit;
      database->merge(transaction, "main", {.from = from, .resolve = whole_documents(Prefer::ours)}, {});
    });
  }

  BranchStore& versions() { return database->branches().store(0); }
  std::map<CommitNumber, State> commits() {
    Transaction transaction(store, Transaction::Mode::read);
    std::map<CommitNumber, State> states;
    for (const auto& [number, node] : database->branches().graph().graph(transaction))
      if (!node.dropped) states[number] = database->branches().view(transaction, number, 0).state;
    return states;
  }
  std::map<CommitNumber, RecordSet> records() {
    const auto commits = this->commits();
    Transaction transaction(store, Transaction::Mode::read);
    std::map<CommitNumber, RecordSet> all;
    for (const auto& [number, state] : commits) all[number] = versions().diff(transaction, View{.state = state}, View{}).only_a;
    return all;
  }
  std::map<CommitNumber, Documents> documents() {
    const auto commits = this->commits();
    Transaction transaction(store, Transaction::Mode::read);
    std::map<CommitNumber, Documents> all;
    for (const auto& [number, state] : commits) {
      Documents& documents = all[number];
      const auto scan = versions().scan(transaction, View{.state = state});
      while (scan->next()) CHECK(documents.emplace(key_of(scan->content()), scan->content()).second);
    }
    return all;
  }
  std::map<CommitNumber, uint64_t> counts() {
    std::map<CommitNumber, uint64_t> counts;
    for (const auto& [number, set] : records()) counts[number] = set.count();
    return counts;
  }

  // Removes each row of the states for which `gone` says so, and returns how many they were.
  size_t lose(const std::function<bool(size_t row, State state)>& gone) {
    const storage::Table table(versions().states_table());
    std::vector<Bytes> keys;
    {
      Transaction transaction(store, Transaction::Mode::read);
      storage::TableCursor cursor = table.cursor(transaction);
      for (size_t met = 0; cursor.next(); ++met)
        if (gone(met, base::load_be64(cursor.key().data()))) keys.emplace_back(cursor.key());
    }
    change([&](Transaction& transaction) {
      for (const Bytes& key : keys) table.remove(transaction, key);
    });
    return keys.size();
  }
  void lose_trees() {
    const storage::Table nodes(database->branches().roots().table_name());
    change([&](Transaction& transaction) { nodes.truncate(transaction, Bytes(1, '\0'), Bytes(40, '\xff')); });
  }
  std::vector<RecordId> there() {
    Transaction transaction(store, Transaction::Mode::read);
    std::vector<RecordId> all;
    for (auto cursor = things->records().cursor(transaction); cursor.next();) all.push_back(cursor.id());
    return all;
  }
  size_t rows() {
    size_t rows = 0;
    lose([&](size_t row, State) { return rows = row + 1, false; });
    return rows;
  }

  base::Random random{base::testing::seed()};
};

}  // namespace

TEST_CASE("what commits show is made again, whichever rows of it are lost") {
  History shop;
  shop.go_on(60);
  for (int round = 0; round < 12; ++round) {
    const auto documents = shop.documents();
    const auto counts = shop.counts();
    const size_t rows = shop.rows(), first = shop.random.below(rows), count = 1 + shop.random.below(rows);
    const uint64_t each = 1 + shop.random.below(20);
    const int how = round % 4;
    INFO("round " << round << ", " << rows << " rows, " << count << " from " << first << ", each of " << each);
    const size_t gone = shop.lose([&](size_t row, State) {
      if (how == 0) return row == first;
      if (how == 1) return row >= first && row - first < count;
      return how == 2 ? shop.random.below(each) == 0 : true;
    });
    const storage::RepairReport report = shop.repair(shop.things);
    CHECK(report.after.valid);
    CHECK((report.made_states > 0) == (gone > 0));
    CHECK(!report.took_away);
    CHECK(report.lost.empty());
    CHECK(shop.rows() == rows);
    CHECK(shop.documents() == documents);
    CHECK(shop.counts() == counts);
    CHECK(!shop.repair(shop.things).repaired());
    shop.go_on(3);
    Transaction transaction(shop.store, Transaction::Mode::read);
    for (const auto& [number, state] : shop.commits())
      CHECK(shop.database->verify(transaction, number, true, 10, {}).damaged == 0);
  }
}

TEST_CASE("without trees, states that other states lead to have the same records again, and the others are named") {
  History shop;
  shop.go_on(40);
  const auto records = shop.records();
  shop.lose_trees();
  std::set<State> states;
  shop.lose([&](size_t, State state) { return states.insert(state), false; });
  std::vector<CommitNumber> lost;
  size_t made = 0;
  // Behind the last state whose jump of 16 steps leads over it, nothing but a tree says what a lost state had.
  for (auto state = states.begin(); state != states.end() && lost.empty(); ++state) {
    shop.lose([&](size_t, State other) { return other == *state; });
    // Another store's memory has nothing that would help.
    Branches branches(shop.store.engine(), database_number, Layout::hybrid, {shop.database->branches().collection(0)});
    const auto holes = shop.database->versions_of(shop.things->id())->holes;
    const MendedStates mended = mend_states(shop.store.engine(), branches, 0, shop.there(), holes, {});
    CHECK(mended.partial.empty());
    lost = mended.lost;
    if (!lost.empty()) {
      Transaction transaction(shop.store, Transaction::Mode::read);
      for (const CommitNumber number : lost) {
        const View view = branches.view(transaction, number, 0);
        CHECK_THROWS_AS(branches.store(0).scan(transaction, view), base::OperationError);
      }
    }
    Transaction transaction(shop.store, Transaction::Mode::read);
    for (const auto& [number, set] : records) {
      if (std::find(lost.begin(), lost.end(), number) != lost.end()) continue;
      const View view = branches.view(transaction, number, 0);
      CHECK(branches.store(0).diff(transaction, view, View{}).only_a == set);
    }
    made += mended.made;
  }
  CHECK(made > 0);  // the first commit shows what was there, and more states follow if there are enough of them
  CHECK(!lost.empty());
}

TEST_CASE("what a commit shows is made again without the documents that nobody has any more") {
  History shop;
  shop.go_on(6);
  shop.write_some("shop.things", 10);
  shop.commit("main");
  const auto documents = shop.documents();
  const CommitNumber number = documents.rbegin()->first;
  REQUIRE(!documents.at(number).empty());
  // A purged document is in the tree all the same.
  const Bytes content = documents.at(number).begin()->second;
  shop.change(
      [&](Transaction& transaction) { shop.database->purge(transaction, "things", bson::DocumentView(content)["_id"], lost); });
  shop.lose([](size_t, State) { return true; });
  const storage::RepairReport report = shop.repair(shop.things);
  CHECK(report.after.valid);
  CHECK(report.made_states > 0);
  auto left = documents;
  for (auto& [other, shown] : left) shown.erase(key_of(content));
  CHECK(shop.documents() == left);
  for (const auto& [other, shown] : left) {
    Transaction transaction(shop.store, Transaction::Mode::read);
    CHECK(shop.database->verify(transaction, other, true, 10, {}).damaged == 0);
  }
}
