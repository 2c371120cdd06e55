#include "versions/branch/commit_ages.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "base/testing.h"

using namespace versions;

namespace {

merkle::Hash id_of(uint8_t first) {
  merkle::Hash id{};
  id[0] = first;
  return id;
}

// The numbers of a graph's commits, the oldest first.
std::vector<CommitNumber> by_age(const Graph& graph) {
  const auto known = ages(graph);
  std::vector<CommitNumber> order;
  for (const auto& [number, node] : graph) order.push_back(number);
  std::sort(order.begin(), order.end(), [&](CommitNumber a, CommitNumber b) { return known.at(a) < known.at(b); });
  return order;
}

using Numbers = std::vector<CommitNumber>;

}  // namespace

TEST_CASE("commits are ordered by their times, whatever their numbers") {
  const Graph graph{{1, {{}, 10, false, id_of(1)}},
                    {2, {{1}, 40, false, id_of(2)}},
                    {3, {{1}, 20, false, id_of(3)}},  // came from another server, after 2
                    {4, {{3, 2}, 50, false, id_of(4)}}};
  CHECK(by_age(graph) == Numbers{1, 3, 2, 4});
}

TEST_CASE("of commits of one time ancestors are older, and ids decide between others") {
  const Graph graph{{1, {{}, 10, false, id_of(9)}},
                    {2, {{1}, 10, false, id_of(8)}},
                    {3, {{1}, 10, false, id_of(7)}},
                    {4, {{2}, 10, false, id_of(1)}}};
  CHECK(by_age(graph) == Numbers{1, 3, 2, 4});
}

TEST_CASE("a commit whose clock was behind is as old as the ancestor that it comes from") {
  const Graph graph{{1, {{}, 100, false, id_of(1)}},
                    {2, {{1}, 50, false, id_of(2)}},
                    {3, {{2}, 60, false, id_of(3)}},
                    {4, {{}, 70, false, id_of(4)}}};
  CHECK(by_age(graph) == Numbers{4, 1, 2, 3});
}

TEST_CASE("the order of a random history doesn't depend on its numbers") {
  std::mt19937_64 random(base::testing::seed());
  for (int turn = 0; turn < 200; ++turn) {
    const size_t count = 2 + random() % 12;
    // By places; parents have lower ones.
    std::vector<GraphNode> nodes;
    for (size_t i = 0; i < count; ++i) {
      GraphNode node{{}, static_cast<int64_t>(random() % 6), false, id_of(static_cast<uint8_t>(i))};
      std::swap(node.id[0], node.id[random() % 2]);
      for (size_t parents = std::min<size_t>(i, random() % 3); parents > 0; --parents) node.parents.push_back(random() % i);
      nodes.push_back(node);
    }
    std::vector<Numbers> orders;
    for (int shuffle = 0; shuffle < 3; ++shuffle) {
      Numbers number_of(count);
      for (size_t i = 0; i < count; ++i) number_of[i] = i + 1;
      if (shuffle > 0) std::shuffle(number_of.begin(), number_of.end(), random);
      Graph graph;
      for (size_t i = 0; i < count; ++i) {
        GraphNode node = nodes[i];
        for (CommitNumber& parent : node.parents) parent = number_of[parent];
        graph[number_of[i]] = node;
      }
      Numbers places;
      for (const CommitNumber number : by_age(graph))
        places.push_back(static_cast<CommitNumber>(std::find(number_of.begin(), number_of.end(), number) - number_of.begin()));
      for (size_t i = 0; i < count; ++i) {
        for (const CommitNumber parent : nodes[i].parents)
          CHECK(std::find(places.begin(), places.end(), parent) < std::find(places.begin(), places.end(), i));
      }
      orders.push_back(places);
    }
    CHECK(orders[1] == orders[0]);
    CHECK(orders[2] == orders[0]);
  }
}
