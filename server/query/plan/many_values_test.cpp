// Filters with many predicates and values: planning takes time and memory that grow with the filter, and stops with its
// operation.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "base/cpu_time.h"
#include "base/error.h"
#include "base/testing.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "bson/keystring.h"
#include "server/core/allowance.h"
#include "server/query/matcher.h"
#include "server/query/plan/interval.h"
#include "server/query/plan/planner.h"
#include "server/query/test_support.h"

namespace server::query::plan {

using base::least_cpu_seconds;
using base::testing::code_of;

namespace {

using bson::Value;

OperationContext* const nobody = nullptr;

Interval interval(int low, int high, bool low_included, bool high_included) {
  return {Value(low), Value(high), low_included, high_included};
}

bson::Document array_of(int count, const std::function<void(bson::Builder&, const std::string&, int)>& append) {
  bson::Builder array;
  for (int i = 0; i < count; ++i) append(array, std::to_string(i), i);
  return array.done();
}

bson::Document numbers(int first, int count) {
  return array_of(count, [&](bson::Builder& out, const std::string& name, int i) { out.append(name, first + i); });
}

bson::Document one(std::string_view name, const Value& value) {
  bson::Builder out;
  out.append(name, value);
  return out.done();
}

bson::Document among(const char* path, int first, int count) {
  return one(path, Value(one("$in", Value::array(numbers(first, count)))));
}

bson::Document all_of(int count, const std::function<bson::Document(int)>& part, const char* how = "$and") {
  return one(how, Value::array(array_of(
                      count, [&](bson::Builder& out, const std::string& name, int i) { out.append(name, Value(part(i))); })));
}

// Planned is a collection `c` with some indexes.
struct Planned {
  explicit Planned(std::initializer_list<const char*> keys) {
    server.insert("c", "{_id: 1, a: 1, b: 1}");
    int number = 0;
    for (const char* key : keys)
      server.create_index("c", "k" + std::to_string(number++), ("{key: " + std::string(key) + "}").c_str());
    collection = server.collection("c");
  }

  std::shared_ptr<const storage::Index> index(size_t i) const { return collection->indexes()[i]; }

  std::vector<Access> ways(const bson::Document& filter, Allowance& allowance) {
    Query query;
    query.filter = filter;
    matcher = Matcher::parse(query.filter, {});
    return plan::ways(collection, query, *matcher, {}, nullptr, allowance);
  }

  TestServer server;
  std::shared_ptr<storage::Collection> collection;
  std::unique_ptr<Matcher> matcher;
};

bool contains(const std::vector<storage::KeyRange>& ranges, const bson::Bytes& key) {
  const auto above =
      std::upper_bound(ranges.begin(), ranges.end(), key,
                       [](const bson::Bytes& wanted, const storage::KeyRange& range) { return wanted < range.from; });
  return above != ranges.begin() && key < std::prev(above)->to;
}

}  // namespace

TEST_CASE("two lists of intervals have in common what both have") {
  std::mt19937_64 random(base::testing::seed());
  const auto below = [&](int limit) { return static_cast<int>(random() % static_cast<uint64_t>(limit)); };
  const auto list = [&] {
    Intervals made;
    for (int i = below(6); i > 0; --i) {
      const int low = below(12);
      made.push_back(interval(low, low + below(4), below(2) != 0, below(2) != 0));
    }
    return normalize(std::move(made));
  };
  // Values between the ends are looked at, too.
  const auto has = [](const Intervals& intervals, double value) {
    return std::any_of(intervals.begin(), intervals.end(), [&](const Interval& one) {
      const double low = one.low.view().to_double(), high = one.high.view().to_double();
      return (low < value || (low == value && one.low_included)) && (value < high || (value == high && one.high_included));
    });
  };
  Allowance unlimited(nobody, nullptr);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Intervals> lists;
    for (int i = below(5); i >= 0; --i) lists.push_back(list());
    const Intervals common = intersect(lists, unlimited);
    for (double value = -1; value < 17; value += 0.5) {
      const bool in_all = std::all_of(lists.begin(), lists.end(), [&](const Intervals& one) { return has(one, value); });
      REQUIRE(has(common, value) == in_all);
    }
    for (size_t i = 0; i < common.size(); ++i) {
      REQUIRE_FALSE(common[i].empty());
      if (i > 0) REQUIRE(bson::compare(common[i - 1].high, common[i].low) <= 0);
    }
  }
}

TEST_CASE("ranges of several fields don't multiply without end, and what they don't prove is checked") {
  Planned planned({"{a: 1, b: 1}"});
  Allowance unlimited(nobody, nullptr);
  const auto scan = [&](const bson::Document& filter) {
    planned.matcher = Matcher::parse(filter, {});
    return index_access(planned.index(1), flatten(planned.matcher->root()), unlimited);
  };
  const auto both = [](const bson::Document& a, const bson::Document& b) {
    return bson::Builder().append_all(a).append_all(b).done();
  };
  // 100 * 100 combinations are ranges of their own.
  Access access = scan(both(among("a", 0, 100), among("b", 0, 100)));
  CHECK(access.ranges.size() == 10'000);
  CHECK(access.residual.empty());
  CHECK(access.points == 2);

  // There would be 200 * 200 ranges, so the second field has one range for each value of the first.
  access = scan(both(among("a", 0, 200), among("b", 5, 200)));
  CHECK(access.ranges.size() == 200);
  CHECK(access.residual.size() == 1);
  CHECK(access.points == 1);
  for (int a = 0; a < 200; ++a) {
    for (int b = 0; b < 210; ++b) {
      const bson::Bytes key = bson::KeyString().append(Value(a)).append(Value(b)).bytes();
      REQUIRE(contains(access.ranges, key) == (b >= 5 && b < 205));
    }
  }
  // The same where the second field's bounds are no points.
  access = scan(both(among("a", 0, 200), one("b", Value(one("$nin", Value::array(numbers(0, 200)))))));
  CHECK(access.ranges.size() == 200);
  CHECK(access.residual.size() == 1);

  // The first field's long value stands in every range.
  const std::string text(1 << 20, 'x');
  access = scan(both(one("a", Value(text)), among("b", 0, 1000)));
  CHECK(access.ranges.size() == 1);
  CHECK(access.residual.size() == 1);
  CHECK(contains(access.ranges, bson::KeyString().append(Value(text)).append(Value(7)).bytes()));
  CHECK_FALSE(contains(access.ranges, bson::KeyString().append(Value(text)).append(Value(1000)).bytes()));
}

TEST_CASE("planning takes time that grows with the filter") {
  Planned planned({"{a: 1}"});
  Allowance unlimited(nobody, nullptr);
  const std::pair<const char*, std::function<bson::Document(int)>> filters[] = {
      {"an $or on one path",
       [](int count) {
         return all_of(
             count, [](int i) { return one("a", Value(2 * i)); }, "$or");
       }},
      {"many predicates on one path",
       [](int count) { return all_of(count, [](int i) { return one("a", Value(one("$gt", Value(i)))); }); }},
      {"two lists that have nothing in common",
       [](int count) {
         bson::Builder lists;
         lists.append("$in", Value::array(numbers(0, count))).append("$nin", Value::array(numbers(count, count)));
         return one("a", Value(lists.done()));
       }},
      {"a list without single values",
       [](int count) {
         return all_of(count, [&](int i) { return i == 0 ? among("a", 0, count) : one("a", Value(one("$ne", Value(i)))); });
       }},
  };
  for (const auto& [what, make] : filters) {
    const auto time = [&, &make = make](int count) {
      const auto matcher = Matcher::parse(make(count), {});
      const Predicates predicates = flatten(matcher->root());
      return least_cpu_seconds(3, [&] { index_access(planned.index(1), predicates, unlimited); });
    };
    INFO(what);
    // With eight times as much, work that is quadratic takes 64 times as long.
    const double few = time(1000), many = time(8000);
    CHECK(many < 32 * few);
  }
}

TEST_CASE("planning stops with its operation") {
  Planned planned({"{a: 1}", "{'$**': 1}"});
  const bson::Document filters[] = {
      among("a", 0, 5000),
      all_of(
          5000, [](int i) { return one("a", Value(i)); }, "$or"),
      all_of(5000, [](int i) { return one("a", Value(one("$gt", Value(i)))); }),
      all_of(3000, [](int i) { return one("p" + std::to_string(i), Value(i)); }),
  };
  for (const bson::Document& filter : filters) {
    TestServer::Operation operation(planned.server);
    OperationContext* const op = &operation.op;
    Allowance allowance(op, nullptr);
    CHECK(code_of([&] { planned.ways(filter, allowance); }) == 0);
    operation.op.kill();
    CHECK(code_of([&] { planned.ways(filter, allowance); }) == 11601);
  }
}

TEST_CASE("the bounds of a filter are its operation's memory") {
  Planned planned({"{a: 1}"});
  MemoryPool small(4 << 20, 4 << 20);
  Allowance allowance(nobody, &small);
  CHECK(code_of([&] { planned.ways(among("a", 0, 1000), allowance); }) == 0);
  CHECK(code_of([&] { planned.ways(among("a", 0, 100'000), allowance); }) == 146);
  CHECK(allowance.memory().held() == 0);
  // A way that only saves time is left out.
  const bson::Document several = all_of(
      3000, [](int i) { return one(i % 2 ? "a" : "_id", Value(std::to_string(i) + std::string(500, 'x'))); }, "$or");
  Allowance unlimited(nobody, nullptr);
  CHECK(planned.ways(several, unlimited).front().kind == Access::Kind::any_of);
  CHECK(planned.ways(several, allowance).front().kind == Access::Kind::collection);
}

TEST_CASE("a wildcard index is scanned for some of a filter's many paths") {
  Planned planned({"{'$**': 1}"});
  Allowance unlimited(nobody, nullptr);
  const auto ways = planned.ways(all_of(1000, [](int i) { return one("p" + std::to_string(i), Value(i)); }), unlimited);
  CHECK(ways.size() > 1);
  CHECK(ways.size() <= 64 + 3);  // with pairs of them
  CHECK(ways.front().residual.size() == 999);
}

}  // namespace server::query::plan
