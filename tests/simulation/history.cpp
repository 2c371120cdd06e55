#include "tests/simulation/history.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

namespace simulation {
namespace {

constexpr int64_t never = std::numeric_limits<int64_t>::max();

// Tries operations in every order that keeps "returned before called", depth first.
struct Search {
  std::vector<RegisterOperation> operations;  // by time of call
  std::vector<bool> done;
  size_t certain_left = 0;
  std::unordered_set<std::string> tried;

  // Returns the key of a state, which need not be tried twice: the operations done, and the value left.
  std::string state(int64_t value) const {
    std::string key(reinterpret_cast<const char*>(&value), sizeof value);
    for (size_t i = 0; i < done.size(); i += 8) {
      char bits = 0;
      for (size_t j = i; j < std::min(i + 8, done.size()); ++j) bits = static_cast<char>(bits << 1 | done[j]);
      key.push_back(bits);
    }
    return key;
  }

  std::optional<int64_t> after(const RegisterOperation& operation, int64_t value) const {
    switch (operation.kind) {
      case RegisterOperation::Kind::read: return operation.value == value ? std::optional(value) : std::nullopt;
      case RegisterOperation::Kind::write: return operation.value;
      case RegisterOperation::Kind::compare_and_set: break;
    }
    const bool fits = operation.expected == value;
    if (operation.returned && fits != operation.succeeded) return std::nullopt;
    return fits ? operation.value : value;
  }

  bool explain(int64_t value) {
    if (certain_left == 0) return true;
    if (!tried.insert(state(value)).second) return false;
    // The next operation was called before any of the remaining ones had returned.
    int64_t first_return = never;
    for (size_t i = 0; i < operations.size(); ++i) {
      if (!done[i]) first_return = std::min(first_return, operations[i].returned.value_or(never));
    }
    for (size_t i = 0; i < operations.size() && operations[i].called <= first_return; ++i) {
      if (done[i]) continue;
      const std::optional<int64_t> next = after(operations[i], value);
      if (!next) continue;
      done[i] = true;
      certain_left -= operations[i].returned.has_value();
      const bool found = explain(*next);
      certain_left += operations[i].returned.has_value();
      done[i] = false;
      if (found) return true;
    }
    return false;
  }
};

}  // namespace

bool linearizable(const std::vector<RegisterOperation>& history) {
  Search search;
  for (const RegisterOperation& operation : history) {
    // A read that never returned saw nothing.
    if (operation.returned || operation.kind != RegisterOperation::Kind::read) search.operations.push_back(operation);
  }
  std::sort(search.operations.begin(), search.operations.end(),
            [](const RegisterOperation& a, const RegisterOperation& b) { return a.called < b.called; });
  search.done.assign(search.operations.size(), false);
  for (const RegisterOperation& operation : search.operations) search.certain_left += operation.returned.has_value();
  return search.explain(0);
}

std::string set_fault(const std::vector<SetOperation>& history) {
  std::vector<const SetOperation*> reads;
  for (const SetOperation& each : history) {
    if (!each.add && each.returned) reads.push_back(&each);
  }
  for (const SetOperation* read : reads) {
    for (const SetOperation& add : history) {
      if (!add.add) continue;
      const bool there = read->contents.count(add.value) > 0;
      const std::string which = "element " + std::to_string(add.value);
      if (!there && add.returned && *add.returned < read->called) return which + ", acknowledged, is missing from a later read";
      if (there && add.called > *read->returned) return which + " was read before it was added";
    }
    for (int64_t value : read->contents) {
      if (std::none_of(history.begin(), history.end(), [&](const SetOperation& add) { return add.add && add.value == value; })) {
        return "element " + std::to_string(value) + " was never added";
      }
    }
    for (const SetOperation* other : reads) {
      const auto holds = [](const SetOperation* big, const SetOperation* small) {
        return std::includes(big->contents.begin(), big->contents.end(), small->contents.begin(), small->contents.end());
      };
      if (*other->returned < read->called && !holds(read, other)) return "a later read lacks what an earlier one saw";
      if (!holds(read, other) && !holds(other, read)) return "two reads saw the elements arrive in different orders";
    }
  }
  return {};
}

}  // namespace simulation
