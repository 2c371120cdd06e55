#include "versions/branch/retention.h"

#include <algorithm>
#include <set>

namespace versions {

Retention RetentionPolicy::at(int64_t now_ms) const {
  if (keeps_all()) return {};
  return {.newest = newest.value_or(0), .since_ms = age_ms ? now_ms - *age_ms : INT64_MAX};
}

std::vector<CommitNumber> parents_first(const Graph& graph) {
  std::vector<CommitNumber> order;
  order.reserve(graph.size());
  bool by_numbers = true;
  for (const auto& [number, node] : graph) {
    order.push_back(number);
    for (const CommitNumber parent : node.parents) by_numbers = by_numbers && parent < number;
  }
  if (by_numbers) return order;
  order.clear();
  std::map<CommitNumber, size_t> waits_for;
  std::map<CommitNumber, std::vector<CommitNumber>> children;
  std::set<CommitNumber> ready;
  for (const auto& [number, node] : graph) {
    size_t& count = waits_for[number];
    for (const CommitNumber parent : node.parents) {
      if (!graph.contains(parent)) continue;
      ++count;
      children[parent].push_back(number);
    }
    if (count == 0) ready.insert(number);
  }
  while (!ready.empty()) {
    const CommitNumber number = ready.extract(ready.begin()).value();
    order.push_back(number);
    for (const CommitNumber child : children[number]) {
      if (--waits_for[child] == 0) ready.insert(child);
    }
  }
  return order;
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
  const std::vector<CommitNumber> order = parents_first(graph);
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    if (!reached.count(*at)) continue;
    for (const CommitNumber parent : graph.at(*at).parents) {
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

NearestKept::NearestKept(const Graph& graph, const std::vector<CommitNumber>& goes)
    : graph_(graph), goes_(goes), order_(parents_first(graph)) {
  places_.reserve(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) places_.emplace(order_[i], i);
}

bool NearestKept::kept(CommitNumber commit) const {
  return !graph_.at(commit).dropped && !std::binary_search(goes_.begin(), goes_.end(), commit);
}

CommitNumber NearestKept::of(CommitNumber commit) const {
  // Follows the lines that begin here.
  std::set<CommitNumber> line{commit};
  for (size_t i = places_.at(commit) + 1; i < order_.size(); ++i) {
    const auto& parents = graph_.at(order_[i]).parents;
    if (std::none_of(parents.begin(), parents.end(), [&](CommitNumber parent) { return line.count(parent) != 0; })) continue;
    if (kept(order_[i])) return order_[i];
    line.insert(order_[i]);
  }
  for (CommitNumber at = commit;;) {
    const auto& parents = graph_.at(at).parents;
    if (parents.empty()) return 0;
    at = parents.front();
    if (kept(at)) return at;
  }
}

}  // namespace versions
