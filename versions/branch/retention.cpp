#include "versions/branch/retention.h"

#include <algorithm>
#include <set>

namespace versions {

Retention RetentionPolicy::at(int64_t now_ms) const {
  if (keeps_all()) return {};
  return {.newest = newest.value_or(0), .since_ms = age_ms ? now_ms - *age_ms : INT64_MAX};
}

std::vector<CommitNumber> may_go(const Graph& graph, const std::vector<CommitNumber>& tips,
                                 const std::vector<CommitNumber>& names, const Retention& retention) {
  std::set<CommitNumber> stays(names.begin(), names.end());
  stays.insert(tips.begin(), tips.end());
  for (CommitNumber at : tips) {
    for (uint64_t i = 0; i < retention.newest; ++i) {
      stays.insert(at);
      const auto& parents = graph.at(at).parents;
      if (parents.empty()) break;
      at = parents.front();
    }
  }
  for (const auto& [number, node] : graph) {
    if (!node.dropped && node.time_ms >= retention.since_ms) stays.insert(number);
  }
  // All ancestors of commits that stay, with the number of lines that part at each.
  std::map<CommitNumber, unsigned> lines;
  std::set<CommitNumber> reached(stays);
  for (auto at = graph.rbegin(); at != graph.rend(); ++at) {
    if (!reached.count(at->first)) continue;
    for (const CommitNumber parent : at->second.parents) {
      ++lines[parent];
      reached.insert(parent);
    }
  }
  std::vector<CommitNumber> go;
  for (const auto& [number, node] : graph) {
    const auto parts = lines.find(number);
    if (node.dropped || stays.count(number) || (parts != lines.end() && parts->second > 1)) continue;
    go.push_back(number);
  }
  return go;
}

CommitNumber nearest_kept(const Graph& graph, CommitNumber commit, const std::vector<CommitNumber>& goes) {
  const auto kept = [&](CommitNumber number) {
    return !graph.at(number).dropped && !std::binary_search(goes.begin(), goes.end(), number);
  };
  // Follows the lines that begin here.
  std::set<CommitNumber> line{commit};
  for (auto at = graph.upper_bound(commit); at != graph.end(); ++at) {
    const auto& parents = at->second.parents;
    if (std::none_of(parents.begin(), parents.end(), [&](CommitNumber parent) { return line.count(parent) != 0; })) continue;
    if (kept(at->first)) return at->first;
    line.insert(at->first);
  }
  for (CommitNumber at = commit;;) {
    const auto& parents = graph.at(at).parents;
    if (parents.empty()) return 0;
    at = parents.front();
    if (kept(at)) return at;
  }
}

}  // namespace versions
