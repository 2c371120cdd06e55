#include "bench/past/overwrites.h"

#include "bench/measure/cpu_clock.h"

namespace bench::past {

std::vector<vp::Mapping> overwrites(uint64_t rows, const Skew& skew, uint64_t seed, uint64_t most, uint64_t& cycle) {
  Overwrites updates(rows, skew, seed);
  std::vector<vp::Mapping> all;
  std::vector<bool> written(rows + 1);
  for (uint64_t left = rows; left > 0;) {
    if (all.size() * 3 / 2 >= most) return {};
    all.push_back(updates.next());
    left -= !written[static_cast<size_t>(all.back().row)];
    written[static_cast<size_t>(all.back().row)] = true;
  }
  cycle = all.size();
  while (all.size() < cycle * 3 / 2) all.push_back(updates.next());
  return all;
}

MemoryLog::MemoryLog(const std::vector<vp::Mapping>& mappings, const vp::SkippyOptions& wanted) : options(wanted) {
  const size_t each = options.node_mappings;
  for (size_t begin = 0; begin < mappings.size(); begin += each) {
    if (mappings.size() - begin < each) {
      open.assign(mappings.begin() + static_cast<ptrdiff_t>(begin), mappings.end());
      break;
    }
    const auto from = mappings.begin() + static_cast<ptrdiff_t>(begin);
    const std::vector<vp::SkippyNode::Start> starts{{begin + 1, 0}};
    add_to_levels(nodes, options,
                  std::make_shared<vp::SkippyNode>(std::vector<vp::Mapping>(from, from + static_cast<ptrdiff_t>(each)), starts));
  }
}

uint64_t MemoryLog::mappings_above(uint32_t height) {
  uint64_t sum = 0;
  for (unsigned level = 1; level < height; ++level) {
    for (uint64_t i = 0; i < nodes.count(level); ++i) sum += nodes.get(level, i)->from(0).size();
  }
  return sum;
}

Built build_tables(MemoryLog& log, uint32_t height, uint64_t rows, uint64_t starts_below, int tables) {
  Built built;
  std::vector<double> times;
  for (int i = 0; i < tables; ++i) {
    const uint64_t snapshot = starts_below * static_cast<uint64_t>(i) / static_cast<uint64_t>(tables);
    size_t scanned = 0;
    const CpuWatch watch;
    vp::PageTable table;
    log.scan(snapshot, height, [&](const vp::MappingRun& run) {
      table.take(run);
      scanned += run.size();
      return table.size() < rows;
    });
    times.push_back(watch.seconds() * 1e3);
    built.scanned += static_cast<double>(scanned) / tables;
    built.complete += table.size() >= rows;
  }
  built.ms = median(std::move(times));
  return built;
}

}  // namespace bench::past
