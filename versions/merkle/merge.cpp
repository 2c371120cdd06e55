#include "versions/merkle/merge.h"

#include <algorithm>
#include <unordered_map>

namespace versions::merkle {
namespace {

std::optional<Bytes> own(const std::optional<BytesView>& bytes) {
  return bytes ? std::optional<Bytes>(*bytes) : std::nullopt;
}

struct Touched {
  Bytes key;
  std::optional<Bytes> base, now;
};

std::vector<Touched> changes_since(const Index& index, Nodes& nodes, const Hash& base, const Hash& side) {
  std::vector<Touched> all;
  index.diff(nodes, base, side, [&](const Difference& difference) {
    all.push_back({Bytes(difference.key), own(difference.a), own(difference.b)});
    return true;
  });
  return all;
}

}  // namespace

Selected select_neither(const Conflict&) {
  return {};
}
Selected select_ours(const Conflict& conflict) {
  return {true, own(conflict.ours)};
}
Selected select_theirs(const Conflict& conflict) {
  return {true, own(conflict.theirs)};
}

Merged merge(const Index& index, Nodes& nodes, const Hash& base, const Hash& ours, const Hash& theirs, const Select& select) {
  if (ours == theirs || theirs == base) return {ours, {}};
  if (ours == base) return {theirs, {}};
  std::vector<Touched> wanted = changes_since(index, nodes, base, theirs);
  std::unordered_map<BytesView, const Touched*> by_us;
  const std::vector<Touched> changed = changes_since(index, nodes, base, ours);
  by_us.reserve(changed.size());
  for (const Touched& one : changed) by_us.emplace(one.key, &one);

  Merged merged;
  std::vector<Change> changes;
  for (Touched& one : wanted) {
    const auto other = by_us.find(one.key);
    if (other != by_us.end()) {
      if (other->second->now == one.now) continue;
      Selected selected = select({one.key, one.base, other->second->now, one.now});
      if (!selected.decided) {
        merged.conflicts.push_back(one.key);
        continue;
      }
      if (selected.value == other->second->now) continue;
      one.now = std::move(selected.value);
    }
    changes.push_back({one.key, one.now});
  }
  if (!merged.conflicts.empty()) return merged;
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.key < b.key; });
  merged.root = index.update(nodes, ours, changes);
  return merged;
}

}  // namespace versions::merkle
