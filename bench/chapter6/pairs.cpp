#include "bench/chapter6/pairs.h"

#include <unordered_map>
#include <utility>

namespace bench::chapter6 {

std::vector<int64_t> predecessors(const Workload& workload) {
  std::vector<int64_t> before(workload.records.size(), -1);
  std::unordered_map<uint64_t, int64_t> newest;
  for (size_t i = 0; i < workload.records.size(); ++i) {
    const Record& record = workload.records[i];
    const auto [found, first] = newest.try_emplace(record.group ^ uint64_t{record.collection} << 56, static_cast<int64_t>(i));
    if (!first) before[i] = std::exchange(found->second, static_cast<int64_t>(i));
  }
  return before;
}

std::vector<Pair> pairs(const Workload& workload, size_t bytes_min, size_t bytes_max, size_t count) {
  std::vector<Pair> all;
  const auto before = predecessors(workload);
  auto within = [&](BytesView bytes) { return bytes.size() >= bytes_min && bytes.size() <= bytes_max; };
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] < 0) continue;
    const BytesView source = workload.records[static_cast<size_t>(before[i])].document, target = workload.records[i].document;
    if (within(source) && within(target)) all.push_back({source, target});
  }
  if (all.size() <= count) return all;
  std::vector<Pair> some;
  for (size_t i = 0; i < count; ++i) some.push_back(all[i * all.size() / count]);
  return some;
}

}  // namespace bench::chapter6
