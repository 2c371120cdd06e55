#include "versions/branch/commit_ages.h"

#include <algorithm>

namespace versions {

std::unordered_map<CommitNumber, Age> ages(const Graph& graph) {
  std::unordered_map<CommitNumber, Age> ages;
  ages.reserve(graph.size());
  for (const CommitNumber number : parents_first(graph)) {
    const GraphNode& node = graph.at(number);
    Age age{.time_ms = node.time_ms, .steps = 0, .id = node.id};
    for (const CommitNumber parent : node.parents) {
      const auto known = ages.find(parent);
      if (known == ages.end() || known->second.time_ms < age.time_ms) continue;
      const uint64_t steps = known->second.steps + 1;
      age.steps = known->second.time_ms > age.time_ms ? steps : std::max(age.steps, steps);
      age.time_ms = known->second.time_ms;
    }
    ages.emplace(number, age);
  }
  return ages;
}

}  // namespace versions
