// A workload with a small cold section instead of a small hot one: how long overwrite cycles are, with forced copies and without (Skippy §5.1.4).
#include <fmt/core.h>

#include <algorithm>
#include <iostream>

#include "bench/measure/cpu_clock.h"
#include "bench/past/figures.h"
#include "bench/past/overwrites.h"
#include "versions/past/cold_rows.h"

namespace bench::past {
namespace {

// One row of a hundred is cold: all of them together get one of so many updates.
constexpr uint64_t cold_share = 100, updates_a_cold_one = 10'000;

struct History {
  std::vector<vp::Mapping> mappings;
  uint64_t forced = 0;
};

// Updates that leave the cold rows unwritten for long, a snapshot each. `age` 0: no forced copies.
History history(uint64_t rows, uint64_t updates, uint64_t age) {
  base::Random random(13);
  const uint64_t cold = std::max<uint64_t>(1, rows / cold_share);
  vp::ColdRows last(rows, std::max<uint64_t>(age, 1));
  History made;
  made.mappings.reserve(updates);
  for (vp::SnapshotId snapshot = 1; snapshot <= updates; ++snapshot) {
    const bool is_cold = random.below(updates_a_cold_one) == 0;
    const auto row = static_cast<vp::RecordId>(1 + (is_cold ? random.below(cold) : cold + random.below(rows - cold)));
    made.mappings.push_back({row, snapshot});
    if (age == 0) continue;
    last.retained(row, snapshot);
    if (last.due(snapshot)) made.forced += last.force(snapshot, [&](vp::RecordId copied) { made.mappings.push_back({copied, snapshot}); });
  }
  return made;
}

// Page tables as of moments in the log's first quarter: until they have every row, or the log ends.
struct Tables {
  size_t complete = 0, all = 0;
  double scanned = 0;  // mean
  double ms = 0;       // median, CPU
};
Tables tables(MemoryLog& log, uint64_t mappings, uint64_t rows, uint32_t height, int rounds, bool to_the_end) {
  Tables made;
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    size_t scanned = 0;
    const CpuWatch watch;
    vp::PageTable table;
    log.scan(mappings / 4 * static_cast<uint64_t>(i) / static_cast<uint64_t>(rounds), height, [&](const vp::MappingRun& run) {
      table.take(run);
      scanned += run.size();
      return to_the_end || table.size() < rows;
    });
    times.push_back(watch.seconds() * 1e3);
    made.scanned += static_cast<double>(scanned) / rounds;
    made.complete += table.size() == rows;
    ++made.all;
  }
  made.ms = median(std::move(times));
  return made;
}

}  // namespace

void run_cold_spots(const Settings& settings, Report& report) {
  const uint64_t rows = settings.rows, age = rows * 8, updates = std::min<uint64_t>(settings.mappings_max, rows * 320);
  Figure figure{"S5", "A small cold section: forced copies (Skippy §5.1.4)", {}, {}, {}, {}};
  Table table{fmt::format("{} rows, {} updates, a snapshot each; a hundredth of the rows gets a ten-thousandth of them. A page table: mappings scanned, CPU ms", number_text(static_cast<double>(rows)),
                          number_text(static_cast<double>(updates))),
              {"", "mappings in the log", "one level, until every row is known", "four levels, likewise", "levels as they are worth it, to the log's end"}, {}};
  for (const uint64_t forced_at : {uint64_t{0}, age}) {
    std::cerr << "skippy: cold spots, " << (forced_at > 0 ? "forced copies" : "none") << "\n";
    const History made = history(rows, updates, forced_at);
    MemoryLog log(made.mappings, {.node_mappings = settings.node_mappings});
    std::vector<std::string> row{forced_at == 0 ? "as written" : fmt::format("forced copies of rows without a mapping for {} snapshots", number_text(static_cast<double>(forced_at))),
                                 made.forced == 0 ? number_text(static_cast<double>(made.mappings.size()))
                                                  : fmt::format("{}, +{:.1f} %", number_text(static_cast<double>(made.mappings.size())),
                                                                100.0 * static_cast<double>(made.forced) / static_cast<double>(updates))};
    for (const auto& [height, to_the_end] : {std::pair{1u, false}, {4u, false}, {0u, true}}) {
      const Tables found = tables(log, made.mappings.size(), rows, height, settings.rounds + 1, to_the_end);
      row.push_back(fmt::format("{:.1f}n, {} ms", found.scanned / static_cast<double>(rows), number_text(found.ms)) +
                    (to_the_end ? "" : fmt::format("; {} of {} complete", found.complete, found.all)));
    }
    table.rows.push_back(std::move(row));
  }
  figure.tables.push_back(std::move(table));
  figure.notes.emplace_back("What the server does is the last column of the first row: it needs no end of a cycle, since what no mapping tells of is read where it is.");
  report.figures.push_back(std::move(figure));
}

}  // namespace bench::past
