// These are logs of mappings as continuous data protection makes them (Skippy §5.1): there is a snapshot after every update of a
// random row, and some rows get most updates.
#pragma once

#include "base/random.h"
#include "versions/past/skippy.h"

namespace bench::past {

namespace vp = versions::past;

// So many hundredths of the updates go to the other hundredths of the rows.
struct Skew {
  const char* name;
  unsigned hot;
};
inline constexpr Skew skews[] = {{"50/50", 50}, {"80/20", 80}, {"90/10", 90}, {"99/1", 99}};

class Overwrites {
 public:
  Overwrites(uint64_t rows, const Skew& skew, uint64_t seed)
      : rows_(rows), hot_(skew.hot), few_(rows * (100 - skew.hot) / 100), random_(seed) {}

  // Returns the next update's mapping: contents are numbered.
  vp::Mapping next() {
    const bool hot = random_.below(100) < hot_;
    const uint64_t row = hot ? random_.below(few_) : few_ + random_.below(rows_ - few_);
    return {static_cast<vp::RecordId>(row + 1), ++made_};
  }

 private:
  const uint64_t rows_, hot_, few_;
  base::Random random_;
  vp::Stamp made_ = 0;
};

// Makes updates until every row was written since the beginning (an overwrite cycle, `cycle` long), and half as many again.
// Returns nothing where that is more than `most`.
std::vector<vp::Mapping> overwrites(uint64_t rows, const Skew& skew, uint64_t seed, uint64_t most, uint64_t& cycle);

// A log with its levels in memory; the mappings that make no full node are its end.
struct MemoryLog {
  vp::SkippyOptions options;
  vp::MemorySkippyNodes nodes;
  std::vector<vp::Mapping> open;

  MemoryLog(const std::vector<vp::Mapping>& mappings, const vp::SkippyOptions& options);
  uint64_t mappings_above(uint32_t height);  // what so many levels take beside the log
  // Runs of mappings as of the `snapshot`th update, on so many levels; `visit` false ends it.
  template <class Visit>
  void scan(uint64_t snapshot, uint32_t height, Visit&& visit) {
    const vp::LogPosition from{snapshot / options.node_mappings, static_cast<uint32_t>(snapshot % options.node_mappings)};
    const bool is_open = from.node >= nodes.count(0);
    if (!is_open) {
      vp::SkippyOptions climbing = options;
      climbing.height = height;
      vp::SkippyScan levels(nodes, climbing, from);
      for (auto run = levels.next(); !run.empty(); run = levels.next()) {
        if (!visit(run)) return;
      }
    }
    visit(vp::MappingRun{.mappings = std::span<const vp::Mapping>(open).subspan(is_open ? from.offset : 0), .pages = {}});
  }
};

// Makes page tables as of updates evenly below `starts_below`, each until it has `rows` rows or the log ends.
struct Built {
  double scanned = 0;   // mappings, mean
  double ms = 0;        // CPU, median
  size_t complete = 0;  // that came to have so many rows
};
Built build_tables(MemoryLog& log, uint32_t height, uint64_t rows, uint64_t starts_below, int tables);

}  // namespace bench::past
