// Property test: whatever indexes there are, a query finds the documents that it finds without any.
#include <algorithm>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "base/testing.h"
#include "server/query/matcher.h"
#include "server/query/random_queries.h"
#include "server/query/reader.h"
#include "server/query/sort_pattern.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

// Those that refuse a document with an array where they hash it are left out of a world that has such a document.
constexpr const char* indexes[] = {
    "{key: {a: 1}}",
    "{key: {a: -1}, collation: {locale: 'en', strength: 2}}",
    "{key: {'a.b': 1}}",
    "{key: {'a.b': 1, 'a.c': -1}}",
    "{key: {'a.c': 1, d: 1}}",
    "{key: {d: 1, e: -1}}",
    "{key: {d: -1, a: 1, e: 1}}",
    "{key: {e: 1, _id: 1}}",
    "{key: {a: 'hashed'}}",
    "{key: {d: 'hashed', e: 1}}",
    "{key: {e: 1, 'a.b': 'hashed'}}",
    "{key: {'$**': 1}}",
    "{key: {'a.$**': 1}}",
    "{key: {'$**': 1}, wildcardProjection: {d: 1, 'a.c': 1}}",
    "{key: {d: 1, 'a.$**': 1}}",
    "{key: {'$**': 1}, collation: {locale: 'en', strength: 2}}",
    "{key: {e: 1}, sparse: true}",
    "{key: {a: 1}, sparse: true}",
    "{key: {'a.b': 1, d: 1}, sparse: true}",
    "{key: {'a.b': 1}, sparse: true}",
    "{key: {'a.c': 1}, partialFilterExpression: {d: {$gte: 1}}}",
    "{key: {a: 1}, partialFilterExpression: {a: {$exists: true}}}",
    "{key: {d: 1}, partialFilterExpression: {e: {$type: 'number'}}}",
    "{key: {a: 1}, partialFilterExpression: {a: {$type: 'int'}}}",
    "{key: {e: 1}, partialFilterExpression: {a: {$in: [1, 'a']}}}",
    "{key: {d: 1}, partialFilterExpression: {$or: [{a: {$lt: 2}}, {e: 'a'}]}}",
    "{key: {e: 1}, partialFilterExpression: {'a.b': {$gt: 0}}}",
    "{key: {e: 1, d: 1}, hidden: true}",
};

class World {
 public:
  explicit World(Random& random) {
    for (int id = 0; id < 50; ++id) {
      documents_.push_back(bson::json(random_document(random, id)));
      server_.insert("c", documents_.back());
    }
    const size_t wanted = 1 + random.below(6);
    for (size_t i = 0; i < wanted; ++i) {
      const char* spec = indexes[random.below(std::size(indexes))];
      const std::string name = "index" + std::to_string(i);
      try {
        server_.create_index("c", name, spec);
        // A hinted index that lacks documents has them left out, as the client wants it.
        const std::string_view text = spec;
        const bool lacks = text.find("sparse") != text.npos || text.find("partial") != text.npos;
        if (!lacks) names_.push_back(name);
        shown_ += std::string(spec) + " ";
      } catch (const base::OperationError&) {
        // A hashed one over arrays, or one that is there already.
      }
    }
  }

  // Returns the documents in the order in which they come.
  std::vector<bson::Document> run(const Query& query) {
    TestServer::Operation operation(server_);
    Reader reader(operation.op, server_.collection("c"), "test.c", query);
    std::vector<bson::Document> found;
    while (reader.next()) found.emplace_back(reader.document());
    summary_ = reader.executor().summary();
    return found;
  }

  std::vector<bson::Document> matching(const Query& query) {
    TestServer::Operation operation(server_);
    ParseContext context = filter_context(operation.op, {}, *query.collation);
    const auto matcher = Matcher::parse(query.filter, context);
    std::vector<bson::Document> found;
    for (const auto& document : documents_) {
      if (matcher->matches(document)) found.push_back(document);
    }
    return found;
  }

  const std::string& shown() const { return shown_; }
  const std::string& summary() const { return summary_; }
  const std::vector<std::string>& names() const { return names_; }

 private:
  TestServer server_;
  std::vector<bson::Document> documents_;
  std::vector<std::string> names_;
  std::string shown_, summary_;
};

int id_of(const bson::Document& document) {
  return document["_id"].as_int32();
}

// Checks one answer. Documents that a sort takes for equal may come in any order, so their keys are compared.
void check_answer(const Query& query, const std::vector<bson::Document>& found, const std::vector<bson::Document>& matching) {
  const SortPattern sort = SortPattern::parse(query.sort, *query.collation);
  std::set<int> all, seen;
  std::vector<bson::Bytes> expected, keys;
  for (const auto& document : matching) {
    all.insert(id_of(document));
    expected.push_back(sort.key(document));
  }
  std::sort(expected.begin(), expected.end());
  const size_t first = std::min(static_cast<size_t>(query.skip), expected.size());
  const size_t last = query.limit == 0 ? expected.size() : std::min(first + static_cast<size_t>(query.limit), expected.size());
  for (const auto& document : found) {
    REQUIRE(all.count(id_of(document)) == 1);
    REQUIRE(seen.insert(id_of(document)).second);
    keys.push_back(sort.key(document));
  }
  REQUIRE(keys == std::vector(expected.begin() + static_cast<std::ptrdiff_t>(first),
                              expected.begin() + static_cast<std::ptrdiff_t>(last)));
}

Query random_query(Random& random, const World& world, std::string& filter) {
  static const char* const sorts[] = {
      "{}", "{}", "{}", "{a: 1}", "{a: -1}", "{d: 1, e: -1}", "{e: 1}", "{'a.b': 1}", "{d: -1, a: 1}", "{_id: -1}"};
  Query query;
  filter = "{" + random_filter(random) + "}";
  query.filter = bson::json(filter);
  query.sort = bson::json(sorts[random.below(std::size(sorts))]);
  query.collation = random.below(4) ? nullptr : *bson::parse_collation(bson::json("{c: {locale: 'en', strength: 2}}")["c"]);
  if (random.below(3) == 0) query.limit = 1 + static_cast<int64_t>(random.below(5));
  if (random.below(5) == 0) query.skip = static_cast<int64_t>(random.below(4));
  if (random.below(4) == 0 && !world.names().empty()) query.hint = bson::Value(world.names()[random.below(world.names().size())]);
  return query;
}

}  // namespace

TEST_CASE("whatever indexes there are, a query finds what it finds without any") {
  const uint64_t seed = base::testing::seed();
  const int rounds = 250;
  std::set<std::string> plans;
  for (uint64_t number = 0; number < 16; ++number) {
    Random random(seed + number);
    World world(random);
    for (int round = 0; round < rounds; ++round) {
      std::string filter;
      Query query = random_query(random, world, filter);
      INFO("world " << number << " round " << round << " indexes " << world.shown());
      INFO(filter << " sorted by " << bson::to_json(query.sort) << " skip " << query.skip << " limit " << query.limit
                  << (*query.collation ? " collated" : "") << " hint "
                  << (query.hint.exists() ? query.hint.view().as_string() : ""));
      std::vector<bson::Document> found;
      try {
        found = world.run(query);
      } catch (const base::OperationError&) {
        // A wildcard index can't answer everything, and a hidden one nothing.
        REQUIRE(query.hint.exists());
        continue;
      }
      INFO(world.summary());
      plans.insert(world.summary());
      check_answer(query, found, world.matching(query));
    }
  }
  CHECK(plans.size() > 20);
}

}  // namespace server::query
