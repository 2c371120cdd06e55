// The order of commits in time. It is the same on every machine, which the order of their numbers isn't.
#pragma once

#include <compare>
#include <unordered_map>

#include "versions/branch/retention.h"

namespace versions {

// An ancestor's age is always the lower one of two. Ages depend on nothing but a commit and its ancestors.
struct Age {
  int64_t time_ms = 0;  // of the commit, or of an ancestor whose clock was ahead
  uint64_t steps = 0;   // Between the commit and its first ancestor of that time lie so many, along the longest line.
  merkle::Hash id{};

  auto operator<=>(const Age&) const = default;
};

// Returns the ages of all commits of the graph. The cost is that of one pass over it.
std::unordered_map<CommitNumber, Age> ages(const Graph& graph);

}  // namespace versions
