// Commits that are selected by a filter have the ids of commits in which nothing else ever was, whatever was remembered of them.
#include "versions/database/selected_commits.h"

#include <catch2/catch.hpp>

#include "base/random.h"
#include "base/testing.h"
#include "bson/json.h"
#include "versions/database/test_shop.h"

using namespace versions;
using bson::json;

namespace {

constexpr int documents = 200, filtered_below = 5;

bool is_shown(bson::DocumentView document) {
  return document["a"].to_int64() < filtered_below;
}

struct FilteredShop : test::Shop {
  Filtering filtering(uint64_t old_nodes_bytes = 64 << 20) {
    return {.compile = [](bson::DocumentView, const bson::CollatorPtr&) -> Matches { return is_shown; },
            .known = &known,
            .interrupted = {},
            .old_nodes_bytes = old_nodes_bytes};
  }
  static Selection selection() { return read_selection(json("{filter: {things: {a: {$lt: 5}}}}")); }
  void put(const std::string& branch, int64_t id, int64_t a) {
    const auto things = store.catalog().open("shop@" + branch + ".things");
    const bson::Document document = json("{_id: " + std::to_string(id) + ", a: " + std::to_string(a) + "}");
    change([&](Transaction& transaction) {
      const auto record = things->find_id(transaction, document["_id"]);
      if (!record)
        things->insert(transaction, document);
      else if (a < 0)
        things->remove(transaction, *record, *things->find(transaction, *record));
      else
        things->update(transaction, *record, *things->find(transaction, *record), document);
    });
  }
  std::map<CommitNumber, Hash> ids(const Filtering& filtering) {
    Transaction transaction(store, Transaction::Mode::read);
    const SelectedCommits selected(*database, transaction, selection(), filtering);
    std::map<CommitNumber, Hash> all;
    for (const auto& [number, node] : database->branches().graph().graph(transaction)) {
      all[number] = selected.id(number);
      CHECK(selected.find(all[number]) == number);
    }
    return all;
  }
  // Compares each commit's tree with the one that it would have if nothing else had ever been in the collection.
  void check_roots() {
    change([&](Transaction& transaction) {
      const SelectedCommits selected(*database, transaction, selection(), filtering());
      const auto shared = database->versions_of(things->id());
      for (const auto& [number, node] : database->branches().graph().graph(transaction)) {
        const auto commit = database->branches().graph().commit(transaction, number);
        const CollectionState& state = *commit->state_of(things->id());
        const auto tree = commit->root_of(state);
        if (!tree) continue;
        std::vector<DocumentHash> shown;
        const auto scan = shared->store.scan(transaction, {.state = state.state});
        while (scan->next()) {
          if (is_shown(bson::DocumentView(scan->content()))) shown.push_back({key_of(scan->content()), sha256(scan->content())});
        }
        const Roots& roots = database->branches().roots();
        CHECK(selected.root(*commit, state) ==
              roots.update(transaction, roots.empty(transaction, roots.kind(transaction, *tree)), shown));
      }
    });
  }

  KnownRoots known;
};

}  // namespace

TEST_CASE("filtered trees are those of the documents that match, by whatever way") {
  FilteredShop shop;
  base::Random random(base::testing::seed());
  for (int id = 0; id < documents; ++id) {
    shop.change([&](Transaction& transaction) {
      shop.things->insert(transaction, json("{_id: " + std::to_string(id) + ", a: " + std::to_string(id % 10) + "}"));
    });
  }
  shop.database = shop.databases.find_or_begin("shop", {.time_ms = 1, .metadata = json("{}").bytes()}).database;
  shop.create_dev();
  const TreeKind kinds[] = {
      {}, {.structure = merkle::Structure::patricia_trie}, {.structure = merkle::Structure::bucket_tree, .buckets = 50}};
  TreeKind kind;
  for (int round = 0; round < 25; ++round) {
    const std::string branch = random.below(2) == 0 ? "main" : "dev";
    const uint64_t changes = 1 + random.below(6);
    for (uint64_t i = 0; i < changes; ++i)
      shop.put(branch, static_cast<int64_t>(random.below(documents + 20)), static_cast<int64_t>(random.below(11)) - 1);
    if (random.below(4) == 0) kind = kinds[random.below(3)];
    CommitInfo info{.time_ms = round + 2, .metadata = json("{message: 'round'}").bytes()};
    info.trees.emplace(shop.things->uuid_bytes(), kind);
    shop.change([&](Transaction& transaction) { shop.database->commit(transaction, branch, info); });
    if (round % 5 == 0) shop.ids(shop.filtering());  // remembers them
  }
  const auto remembered = shop.ids(shop.filtering());
  KnownRoots nothing, nothing_again;
  Filtering anew = shop.filtering(), each_anew = shop.filtering(0);
  anew.known = &nothing;
  each_anew.known = &nothing_again;
  CHECK(shop.ids(anew) == remembered);
  CHECK(shop.ids(each_anew) == remembered);
  shop.check_roots();
}

TEST_CASE("a selection has one form, and says something") {
  const auto form = [](const char* fields) { return bson::to_json(read_selection(json(fields)).document()); };
  CHECK(form("{filter: {b: {x: 1}, a: {}}, collections: ['c', 'b']}") ==
        bson::to_json(json("{collections: ['a', 'b', 'c'], filter: {b: {x: 1}}}")));
  CHECK(form("{more: 1}") == "{}");
  for (const char* wrong : {"{collections: []}", "{filter: {}}", "{filter: {a: 1}}", "{collections: [1]}", "{collections: 'a'}",
                            "{filter: ['a']}", "{filter: {a: {x: 1}, a: {x: 2}}}"})
    CHECK_THROWS_AS(read_selection(json(wrong)), base::OperationError);
  const std::string large(filter_bytes_max, 'x');
  CHECK_THROWS_AS(read_selection(json("{filter: {a: {x: '" + large + "'}}}")), base::OperationError);
  CHECK(!selection_of(json("{message: 'own'}").bytes()));
  CHECK(selection_of(json("{madeFrom: {commit: 'a', collections: ['c']}}").bytes()) ==
        read_selection(json("{collections: ['c']}")));
}
