// This workload has a small cold section instead of a small hot one. It shows how long overwrite cycles are, with forced copies
// and without (Skippy §5.1.4).
#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <optional>

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

// Makes updates that leave the cold rows unwritten for long, with a snapshot each. An `age` of 0 means no forced copies.
History history(uint64_t rows, uint64_t updates, uint64_t age) {
  base::Random random(13);
  const uint64_t cold = std::max<uint64_t>(1, rows / cold_share);
  std::optional<vp::ColdRows> last;
  if (age > 0) last.emplace(rows, age);
  History made;
  made.mappings.reserve(updates);
  for (vp::SnapshotId snapshot = 1; snapshot <= updates; ++snapshot) {
    const bool is_cold = random.below(updates_a_cold_one) == 0;
    const auto row = static_cast<vp::RecordId>(1 + (is_cold ? random.below(cold) : cold + random.below(rows - cold)));
    made.mappings.push_back({row, snapshot});
    if (!last) continue;
    last->retained(row, snapshot);
    if (last->due(snapshot))
      made.forced += last->force(snapshot, [&](vp::RecordId copied) { made.mappings.push_back({copied, snapshot}); });
  }
  return made;
}

}  // namespace

void run_cold_spots(const Settings& settings, Report& report) {
  const uint64_t rows = settings.rows, age = rows * 8, updates = std::min<uint64_t>(settings.mappings_max, rows * 320);
  Figure figure{"S5", "A small cold section: forced copies (Skippy §5.1.4)", {}, {}, {}, {}};
  Table table{fmt::format("{} rows, {} updates, a snapshot each; a hundredth of the rows gets a ten-thousandth of them. A page "
                          "table: mappings scanned, CPU ms",
                          number_text(static_cast<double>(rows)), number_text(static_cast<double>(updates))),
              {"", "mappings in the log", "one level, until every row is known", "four levels, likewise",
               "levels as they are worth it, to the log's end"},
              {}};
  for (const uint64_t forced_at : {uint64_t{0}, age}) {
    std::cerr << "skippy: cold spots, " << (forced_at > 0 ? "forced copies" : "none") << "\n";
    const History made = history(rows, updates, forced_at);
    MemoryLog log(made.mappings, {.node_mappings = settings.node_mappings});
    std::vector<std::string> row{forced_at == 0 ? "as written"
                                                : fmt::format("forced copies of rows without a mapping for {} snapshots",
                                                              number_text(static_cast<double>(forced_at))),
                                 made.forced == 0
                                     ? number_text(static_cast<double>(made.mappings.size()))
                                     : fmt::format("{}, +{:.1f} %", number_text(static_cast<double>(made.mappings.size())),
                                                   100.0 * static_cast<double>(made.forced) / static_cast<double>(updates))};
    const int tables = settings.rounds + 1;
    for (const auto& [height, until] : {std::pair{1u, rows}, {4u, rows}, {0u, UINT64_MAX}}) {
      const Built built = build_tables(log, height, until, made.mappings.size() / 4, tables);
      row.push_back(fmt::format("{:.1f}n, {} ms", built.scanned / static_cast<double>(rows), number_text(built.ms)) +
                    (until == rows ? fmt::format("; {} of {} complete", built.complete, tables) : ""));
    }
    table.rows.push_back(std::move(row));
  }
  figure.tables.push_back(std::move(table));
  figure.notes.emplace_back(
      "What the server does is the last column of the first row: it needs no end of a cycle, since a row without a mapping "
      "is read where it is.");
  report.figures.push_back(std::move(figure));
}

}  // namespace bench::past
