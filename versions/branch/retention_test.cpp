#include "versions/branch/retention.h"

#include <catch2/catch.hpp>

using namespace versions;

namespace {

Graph graph_of(const std::map<CommitNumber, std::vector<CommitNumber>>& parents) {
  Graph graph;
  for (const auto& [number, of] : parents) graph[number] = {of, static_cast<int64_t>(number * 10), false};
  return graph;
}

using Numbers = std::vector<CommitNumber>;

CommitNumber nearest(const Graph& graph, CommitNumber commit, const Numbers& goes) {
  return NearestKept(graph, goes).of(commit);
}

}  // namespace

TEST_CASE("heads, names, the newest and where lines part stay, and what nothing comes from goes") {
  Graph graph = graph_of({{1, {}}, {2, {1}}, {3, {2}}, {4, {3}}, {5, {4}}, {6, {5}}, {7, {3}}, {8, {7}}, {9, {4}}, {10, {9}}});
  CHECK(may_go(graph, {6, 8}, {}, {.newest = 2}) == Numbers{1, 2, 4, 9, 10});  // 7 is one of dev's newest two
  CHECK(may_go(graph, {6, 8}, {}, {.newest = 1}) == Numbers{1, 2, 4, 5, 7, 9, 10});
  CHECK(may_go(graph, {6, 8}, {2, 10}, {.newest = 1}) == Numbers{1, 5, 7, 9});       // 10 makes lines part at 4
  CHECK(may_go(graph, {6, 8}, {}, {.newest = 1, .since_ms = 50}) == Numbers{1, 2});  // 9 stays, and so lines part at 4
  CHECK(may_go(graph, {6, 8}, {}, {}) == Numbers{9, 10});
  graph[4].dropped = true;
  CHECK(may_go(graph, {6, 8}, {}, {.newest = 1}) == Numbers{1, 2, 5, 7, 9, 10});
}

TEST_CASE("commits that came later than their children are dropped and kept as others are") {
  // The graph is the first case's, but commit 3 has the number 23, and 1 the number 21.
  const Graph graph =
      graph_of({{21, {}}, {2, {21}}, {23, {2}}, {4, {23}}, {5, {4}}, {6, {5}}, {7, {23}}, {8, {7}}, {9, {4}}, {10, {9}}});
  const Numbers order = parents_first(graph);
  CHECK(order == Numbers{21, 2, 23, 4, 5, 6, 7, 8, 9, 10});
  CHECK(may_go(graph, {6, 8}, {}, {.newest = 2}) == Numbers{2, 4, 9, 10, 21});
  CHECK(may_go(graph, {6, 8}, {2, 10}, {.newest = 1}) == Numbers{5, 7, 9, 21});
  CHECK(nearest(graph, 2, {2, 23}) == 4);
  CHECK(nearest(graph, 21, {2, 21}) == 23);
  CHECK(nearest(graph, 10, {10}) == 9);
}

TEST_CASE("the ancestor that a merge would have stays") {
  // The two branches were merged both ways. Whichever heads are merged next, their newest common ancestor must stay.
  const Graph graph = graph_of({{1, {}}, {2, {1}}, {3, {1}}, {4, {2, 3}}, {5, {3, 2}}, {6, {4}}, {7, {5}}});
  const Numbers go = may_go(graph, {6, 7}, {}, {.newest = 1});
  CHECK(go == Numbers{4, 5});
}

TEST_CASE("the nearest that stays is looked for among those that come from a commit first") {
  const Graph graph = graph_of({{1, {}}, {2, {1}}, {3, {2}}, {4, {3}}, {5, {2}}, {6, {5}}});
  CHECK(nearest(graph, 2, {2, 3}) == 4);
  CHECK(nearest(graph, 5, {5, 6}) == 2);
  CHECK(nearest(graph, 6, {2, 5, 6}) == 1);
  CHECK(nearest(graph, 1, {1, 2, 3, 4, 5, 6}) == 0);
}

TEST_CASE("a policy says from now on which commits stay, and without one all do") {
  const Graph graph = graph_of({{1, {}}, {2, {1}}, {3, {2}}, {4, {3}}});
  CHECK(RetentionPolicy().keeps_all());
  CHECK(may_go(graph, {4}, {}, RetentionPolicy().at(1000)).empty());
  const Retention newest = RetentionPolicy{.newest = 2, .age_ms = {}}.at(1000);
  CHECK(may_go(graph, {4}, {}, newest) == Numbers{1, 2});
  const Retention young = RetentionPolicy{.newest = {}, .age_ms = 100}.at(1000);
  CHECK(young.since_ms == 900);
  CHECK(young.newest == 0);
}
