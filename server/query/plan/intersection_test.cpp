// Property tests: whichever way the planner offers, intersections of two indexes among them, it finds what the filter means.
#include <set>

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "server/query/exec/build.h"
#include "server/query/matcher.h"
#include "server/query/plan/planner.h"
#include "server/query/random_queries.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

constexpr const char* indexes[] = {
    "{key: {a: 1}}",
    "{key: {a: -1}, collation: {locale: 'en', strength: 2}}",
    "{key: {'a.b': 1}}",
    "{key: {a: 1}, sparse: true}",
    "{key: {'a.c': 1}, partialFilterExpression: {d: {$gte: 1}}}",
    "{key: {a: 'hashed'}}",
    "{key: {d: 1}}",
    "{key: {d: -1}, collation: {locale: 'en', strength: 2}}",
    "{key: {d: 1}, sparse: true}",
    "{key: {d: 'hashed'}}",
    "{key: {e: 1}}",
    "{key: {e: -1}, sparse: true}",
    "{key: {e: 1}, partialFilterExpression: {e: {$exists: true}}}",
    "{key: {e: 1, d: 1}}",
    "{key: {'$**': 1}}",
};

std::string random_equalities(Random& random) {
  static const char* const paths[] = {"a", "d", "e", "a.b", "a.c"};
  std::string text;
  const uint64_t parts = 2 + random.below(2);
  for (uint64_t i = 0; i < parts; ++i)
    text += (i ? ", '" : "'") + std::string(paths[random.below(std::size(paths))]) + "': " + random_scalar(random);
  return text;
}

class World {
 public:
  explicit World(Random& random) : random_(random) {
    for (int id = 0; id < documents; ++id) server_.insert("c", bson::json(random_document(random, id)));
    const size_t wanted = 3 + random.below(5);
    for (size_t i = 0; i < wanted; ++i) {
      try {
        server_.create_index("c", "index" + std::to_string(i), indexes[random.below(std::size(indexes))]);
      } catch (const base::OperationError&) {
        // A hashed one over arrays, or one that is there already.
      }
    }
  }

  // Runs each way that the planner offers. With `changes`, documents are replaced in its pauses.
  void check(const Query& query, bool changes) {
    TestServer::Operation operation(server_);
    const auto matcher = Matcher::parse(query.filter, filter_context(operation.op, {}, *query.collation));
    const SortPattern sort;
    OperationContext* const op = &operation.op;
    Allowance allowance(op, nullptr);
    const auto collection = server_.collection("c");
    const exec::Parts parts{query, collection, sort, nullptr, allowance, 1 << 20};
    std::set<int> matching;
    for (const bson::Document& document : all()) {
      if (matcher->matches(document)) matching.insert(document["_id"].as_int32());
    }
    for (const plan::Access& way : plan::ways(collection, query, *matcher, sort, nullptr, allowance)) {
      if (way.kind == plan::Access::Kind::all_of) ++intersections_;
      const std::set<int> found = run(*exec::build(parts, way), *matcher, changes);
      if (!changes) REQUIRE(found == matching);
    }
  }

  int intersections() const { return intersections_; }

 private:
  static constexpr int documents = 60;

  std::vector<bson::Document> all() {
    storage::Transaction transaction(server_.store(), storage::Transaction::Mode::read);
    const auto scan = server_.collection("c")->scan(transaction, storage::Direction::forward);
    std::vector<bson::Document> found;
    while (scan->next()) found.emplace_back(scan->document());
    return found;
  }

  std::set<int> run(exec::Stage& stages, const Matcher& matcher, bool changes) {
    std::set<int> found;
    auto transaction = std::make_unique<storage::Transaction>(server_.store(), storage::Transaction::Mode::read);
    for (;;) {
      const exec::Step step = stages.work(*transaction);
      if (step == exec::Step::end) return found;
      if (step == exec::Step::advanced) {
        REQUIRE(matcher.matches(stages.document()));
        REQUIRE(found.insert(stages.document()["_id"].as_int32()).second);
      }
      if (random_.below(8)) continue;
      stages.save();
      transaction.reset();
      if (changes) replace(static_cast<int>(random_.below(documents)));
      transaction = std::make_unique<storage::Transaction>(server_.store(), storage::Transaction::Mode::read);
      stages.restore(*transaction);
    }
  }

  void replace(int id) {
    const bson::Document document = bson::json(random_document(random_, id));
    const auto collection = server_.collection("c");
    try {
      storage::in_transaction(server_.store(), [&](storage::Transaction& transaction) {
        const auto record = collection->find_id(transaction, document["_id"]);
        const auto before = collection->find(transaction, record.value());
        collection->update(transaction, *record, before.value(), document);
      });
    } catch (const base::OperationError&) {
      // An index refuses it, so the old one stays.
    }
  }

  Random& random_;
  TestServer server_;
  int intersections_ = 0;
};

void check_worlds(bool changes) {
  const uint64_t seed = base::testing::seed();
  int intersections = 0;
  // How many plans intersect is up to the random filters, so worlds are added until there were enough.
  for (uint64_t number = 0; number < 5 || (intersections <= 20 && number < 50); ++number) {
    Random random(seed + number);
    World world(random);
    for (int round = 0; round < 50; ++round) {
      Query query;
      const std::string filter = "{" + random_equalities(random) + "}";
      query.filter = bson::json(filter);
      query.collation = random.below(4) ? nullptr : *bson::parse_collation(bson::json("{c: {locale: 'en', strength: 2}}")["c"]);
      INFO("world " << number << " round " << round << " " << filter << (*query.collation ? " collated" : ""));
      world.check(query, changes);
    }
    intersections += world.intersections();
  }
  CHECK(intersections > 20);
}

}  // namespace

TEST_CASE("each way to equalities on several fields finds what the filter means") {
  check_worlds(false);
}

TEST_CASE("an intersection whose documents change meanwhile returns each once, and as it matches") {
  check_worlds(true);
}

}  // namespace server::query
