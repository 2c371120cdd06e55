#include "bench/merkle/sharing.h"

#include <algorithm>

namespace bench::merkle {

// A node that occurs twice within one version (empty buckets, say) is counted twice in it; there are next to none.
void Sharing::add(siri::Nodes& nodes, const siri::Hash& root) {
  const Sum sum = below(nodes, root);
  all_.nodes += sum.nodes;
  all_.bytes += sum.bytes;
}

Sharing::Sum Sharing::below(siri::Nodes& nodes, const siri::Hash& root) {
  if (const auto known = sums_.find(root); known != sums_.end()) return known->second;
  const siri::NodePtr node = nodes.get(root);
  Sum sum{1, node->bytes().size()};
  kept_.nodes += 1;
  kept_.bytes += node->bytes().size();
  for (const siri::Hash& child : siri::children_of(*node)) {
    const Sum more = below(nodes, child);
    sum.nodes += more.nodes;
    sum.bytes += more.bytes;
  }
  sums_.emplace(root, sum);
  return sum;
}

Collaboration scaled(double scale, double overlap, size_t batch) {
  const auto part = [&](size_t whole) { return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(whole) * scale)); };
  return {.initial = part(40'000), .workload = part(160'000), .batch = part(batch), .overlap = overlap};
}

Sharing collaborate(const Collaboration& how, const siri::IndexOptions& options) {
  Sharing sharing;
  const std::vector<Record> initial = records(0, how.initial, how.key_bytes_min);
  const auto shared = static_cast<uint64_t>(static_cast<double>(how.workload) * how.overlap);
  for (size_t group = 0; group < how.groups; ++group) {
    base::Random random(100 + group);
    std::vector<Record> workload = records(how.initial, shared, how.key_bytes_min);
    const std::vector<Record> own = records(how.initial + how.workload * (group + 1), how.workload - shared, how.key_bytes_min);
    workload.insert(workload.end(), own.begin(), own.end());
    shuffle(workload, random);
    std::vector<Record> first = initial;
    shuffle(first, random);
    Tree tree(options);
    tree.put(first, how.batch);
    std::vector<siri::Hash> roots{tree.root};
    tree.put(workload, how.batch, &roots);
    if (how.heads_only) roots.erase(roots.begin(), roots.end() - 1);
    for (const siri::Hash& root : roots) sharing.add(tree.nodes, root);
  }
  return sharing;
}

}  // namespace bench::merkle
