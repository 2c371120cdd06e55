#include <fmt/core.h>

#include <cmath>
#include <iostream>
#include <map>
#include <stdexcept>

#include "bench/measure/cpu_clock.h"
#include "bench/measure/scratch.h"
#include "bench/past/figures.h"
#include "bench/past/overwrites.h"
#include "storage/engine/engine.h"
#include "storage/engine/internals.h"
#include "versions/past/maplog.h"

namespace bench::past {
namespace {

constexpr uint32_t heights = 5;

struct Scheme {
  const char* name;
  uint32_t fan_in;
};
constexpr Scheme schemes[] = {{"fan-in 8", 8}, {"fixed capacity, as in the paper", 0}};

std::string in_rows(double mappings, uint64_t rows) {
  return fmt::format("{:.1f}n", mappings / static_cast<double>(rows));
}

// --- tables 1 and 2, and what figures 3 to 5 are about

struct Costs {
  std::map<std::string, double> ms;  // with levels up to height 4, by skew, of fan-in 8
};

Costs run_skews(const Settings& settings, Report& report) {
  Costs costs;
  Figure figure{"S1", "Page tables by skew and height (Skippy table 1, figures 3 and 5)", {}, {}, {}, {}};
  for (const Scheme& scheme : schemes) {
    Plot plot{fmt::format("CPU ms to build a page table, {}", scheme.name), "levels", "ms", false, {}};
    std::vector<std::string> columns{"skew, overwrite cycle"};
    for (uint32_t height = 1; height <= heights; ++height) columns.push_back(fmt::format("h = {}", height));
    columns.insert(columns.end(), {"mappings beside the log, h = 4", "CPU ns to make a mapping, h = 1", "h = 5"});
    Table table{fmt::format("{}: mappings scanned and CPU ms for one page table of {} rows, a snapshot an update, nodes of {}",
                            scheme.name, settings.rows, settings.node_mappings),
                columns,
                {}};
    for (const Skew& skew : skews) {
      std::cerr << "skippy: " << scheme.name << ", " << skew.name << "\n";
      uint64_t cycle = 0;
      const auto mappings = overwrites(settings.rows, skew, 7, settings.mappings_max, cycle);
      if (mappings.empty()) {
        figure.notes.push_back(fmt::format("{}: the overwrite cycle is longer than --mappings-max has room for", skew.name));
        continue;
      }
      const auto seconds_to_make = [&](uint32_t height) {
        const CpuWatch watch;
        const MemoryLog made(mappings, {.node_mappings = settings.node_mappings, .fan_in = scheme.fan_in, .height = height});
        return watch.seconds();
      };
      const double flat_ns = seconds_to_make(1) * 1e9 / static_cast<double>(mappings.size());
      const CpuWatch watch;
      MemoryLog log(mappings, {.node_mappings = settings.node_mappings, .fan_in = scheme.fan_in, .height = heights});
      const double levels_ns = watch.seconds() * 1e9 / static_cast<double>(mappings.size());
      std::vector<std::string> row{fmt::format("{}, {}", skew.name, number_text(static_cast<double>(cycle)))};
      Series series{skew.name, {}};
      for (uint32_t height = 1; height <= heights; ++height) {
        const Built built = build_tables(log, height, settings.rows, cycle / 4, settings.rounds + 1);
        row.push_back(fmt::format("{}, {} ms", in_rows(built.scanned, settings.rows), number_text(built.ms)));
        series.points.emplace_back(height, built.ms);
        if (height == 4 && scheme.fan_in > 0) costs.ms[skew.name] = built.ms;
      }
      row.push_back(
          fmt::format("+{:.0f} %", 100.0 * static_cast<double>(log.mappings_above(4)) / static_cast<double>(mappings.size())));
      row.push_back(number_text(flat_ns));
      row.push_back(number_text(levels_ns));
      table.rows.push_back(std::move(row));
      plot.series.push_back(std::move(series));
    }
    figure.tables.push_back(std::move(table));
    figure.plots.push_back(std::move(plot));
  }
  figure.notes.emplace_back(
      "The paper's table 1, seconds from a disk of 2005: 50/50 13.8 (h = 1); 80/20 19.0, 15.8, 14.7, 13.9 (h = 1 to 4); 99/1 "
      "33.3, 6.69 (h = 1, 2).");
  report.figures.push_back(std::move(figure));
  return costs;
}

void run_scaling(const Settings& settings, Report& report) {
  Figure figure{"S2", "More rows, the node as it was or as many times as large (Skippy table 2)", {}, {}, {}, {}};
  Table table{"80/20; what four levels take off the mappings that a page table needs without them",
              {"rows", "node", "fan-in 8", "fixed capacity"},
              {}};
  for (const auto& [times, node_times] : {std::pair{1u, 1u}, {4u, 1u}, {4u, 4u}}) {
    std::cerr << "skippy: " << times << " times the rows\n";
    uint64_t cycle = 0;
    const uint64_t rows = settings.rows * times;
    const auto mappings = overwrites(rows, skews[1], 9, settings.mappings_max, cycle);
    if (mappings.empty()) continue;
    std::vector<std::string> row{number_text(static_cast<double>(rows)), number_text(settings.node_mappings * node_times)};
    for (const Scheme& scheme : schemes) {
      MemoryLog log(mappings, {.node_mappings = settings.node_mappings * node_times, .fan_in = scheme.fan_in, .height = 4});
      const double flat = build_tables(log, 1, rows, cycle / 4, settings.rounds).scanned,
                   levels = build_tables(log, 4, rows, cycle / 4, settings.rounds).scanned;
      row.push_back(fmt::format("-{:.0f} %, {}", 100 * (1 - levels / flat), in_rows(levels, rows)));
    }
    table.rows.push_back(std::move(row));
  }
  figure.tables.push_back(std::move(table));
  figure.notes.emplace_back("The paper has -27 % at 100 MB with its 50 KB node, -8 % at 400 MB, -31 % there with a 200 KB node.");
  report.figures.push_back(std::move(figure));
}

// "The length of an overwrite cycle is not a function of snapshot age" (§5.3.2).
void run_ages(const Settings& settings, Report& report) {
  Figure figure{"S3", "Mappings scanned for a page table by the snapshot's age", {}, {}, {}, {}};
  Table table{"Snapshots evenly over the log, those that every row was written since; four levels, fan-in 8",
              {"skew", "snapshots", "mean", "deviation"},
              {}};
  Plot plot{"Mappings scanned, in overwrite cycles before the end", "age", "mappings a row", false, {}};
  for (const Skew& skew : {skews[0], skews[1], skews[2]}) {
    uint64_t cycle = 0;
    if (overwrites(settings.rows, skew, 11, settings.mappings_max / settings.age_cycles, cycle).empty()) continue;
    Overwrites updates(settings.rows, skew, 12);
    std::vector<vp::Mapping> mappings(cycle * settings.age_cycles);
    for (auto& mapping : mappings) mapping = updates.next();
    MemoryLog log(mappings, {.node_mappings = settings.node_mappings, .height = 4});
    Series series{skew.name, {}};
    std::vector<double> all;
    constexpr uint64_t snapshots = 100;
    for (uint64_t i = 0; i < snapshots; ++i) {
      const uint64_t snapshot = mappings.size() * i / snapshots;
      vp::PageTable found;
      size_t scanned = 0;
      log.scan(snapshot, 4, [&](const vp::MappingRun& run) {
        scanned += run.size();
        found.take(run);
        return found.size() < settings.rows;
      });
      if (found.size() < settings.rows) break;
      all.push_back(static_cast<double>(scanned) / static_cast<double>(settings.rows));
      series.points.emplace_back(static_cast<double>(mappings.size() - snapshot) / static_cast<double>(cycle), all.back());
    }
    double mean = 0, variance = 0;
    for (const double one : all) mean += one / static_cast<double>(all.size());
    for (const double one : all) variance += (one - mean) * (one - mean) / static_cast<double>(all.size());
    table.rows.push_back(
        {skew.name, std::to_string(all.size()), fmt::format("{:.1f}n", mean), fmt::format("{:.1f}n", std::sqrt(variance))});
    plot.series.push_back(std::move(series));
  }
  figure.tables.push_back(std::move(table));
  figure.plots.push_back(std::move(plot));
  report.figures.push_back(std::move(figure));
}

// --- in the engine's tables, beside an index of keys and snapshots

class Engine {
 public:
  explicit Engine(const std::string& path) : path_(path) { open(); }
  void open() {
    engine_.reset();
    storage::EngineOptions options(base::system_clock());
    options.path = path_;
    options.cache_bytes = 512 << 20;
    engine_ = std::make_unique<storage::Engine>(options);
  }
  storage::Engine& operator*() { return *engine_; }
  storage::Table table(const char* name) { return engine_->internals().tables.open(name, {}); }
  storage::Table log_table() { return engine_->internals().tables.open("past-bench", vp::Maplog::table_options()); }

 private:
  const std::string path_;
  std::unique_ptr<storage::Engine> engine_;
};

base::Bytes index_key(const vp::Mapping& mapping, vp::SnapshotId snapshot) {
  base::Bytes key;
  base::append_be64(key, static_cast<uint64_t>(mapping.row));
  base::append_be64(key, snapshot);
  return key;
}

void run_tables(const Settings& settings, const Costs& costs, Report& report) {
  std::cerr << "skippy: in tables\n";
  uint64_t cycle = 0;
  const auto mappings = overwrites(settings.rows, skews[1], 7, settings.mappings_max, cycle);
  if (mappings.empty()) throw std::runtime_error("--mappings-max is less than 80/20 takes to overwrite all --rows");
  const vp::SkippyOptions options{.node_mappings = settings.node_mappings, .height = 4};
  Engine engine(settings.scratch + "/past");
  vp::SkippyCache cache(size_t{1} << 30);
  // Mappings are appended as writers do, a thousand a transaction, and sealed.
  const CpuWatch appending;
  double sealing = 0;
  {
    const vp::Maplog log(engine.log_table(), options, cache);
    constexpr size_t batch = 1'000;
    for (size_t begin = 0; begin < mappings.size(); begin += batch) {
      const size_t end = std::min(begin + batch, mappings.size());
      storage::in_transaction(*engine, [&](storage::Transaction& transaction) {
        for (size_t i = begin; i < end; ++i) log.append(transaction, i + 1, i + 1, mappings[i]);
      });
      if (end % (32 * batch) != 0 && end < mappings.size()) continue;
      const CpuWatch watch;
      storage::in_transaction(*engine, [&](storage::Transaction& transaction) { log.seal(transaction, end + 1); });
      sealing += watch.seconds();
    }
  }
  const double appending_us = (appending.seconds() - sealing) * 1e6 / static_cast<double>(mappings.size());
  const double sealing_ns = sealing * 1e9 / static_cast<double>(mappings.size());
  const uint64_t first = cycle / 8;
  constexpr size_t few = 16;  // rows

  // They are read from disk: the caches are a new process's, the operating system's are as they are.
  std::vector<double> cold, warm, single, some;
  for (int round = 0; round < settings.rounds; ++round) {
    engine.open();
    vp::SkippyCache fresh(size_t{1} << 30);
    const vp::Maplog log(engine.log_table(), options, fresh);
    storage::Transaction transaction(*engine, storage::Transaction::Mode::read);
    const auto once = [&] {
      const CpuWatch watch;
      const vp::PageTable table = log.page_table(transaction, first);
      base::check(table.size() == settings.rows, "every row was written since");
      return watch.seconds() * 1e3;
    };
    cold.push_back(once());
    warm.push_back(once());
    const CpuWatch watch;
    base::check(log.find(transaction, first, static_cast<vp::RecordId>(settings.rows / 2)).has_value(), "it was");
    single.push_back(watch.seconds() * 1e3);
    const CpuWatch demanding;
    vp::OnDemandTable on_demand(log, transaction, first);
    for (size_t i = 0; i < few; ++i)
      base::check(on_demand.find(static_cast<vp::RecordId>(1 + i * (settings.rows / few))).has_value(), "it was");
    some.push_back(demanding.seconds() * 1e3);
  }

  // A range is read at once, and one by one. The last of the range has a whole cycle before it.
  const vp::Maplog log(engine.log_table(), options, cache);
  storage::Transaction transaction(*engine, storage::Transaction::Mode::read);
  const uint64_t last = first + settings.range - 1;
  log.page_table(transaction, first);
  const double joint =
      median_cpu_seconds(static_cast<size_t>(settings.rounds), [&](size_t) { log.joint_table(transaction, first, last); });
  const double alone = least_cpu_seconds(1, [&] {
    for (uint64_t snapshot = first; snapshot <= last; ++snapshot) log.page_table(transaction, snapshot);
  });
  const vp::JointTable joined = log.joint_table(transaction, first, last);
  for (const uint64_t snapshot : {first, (first + last) / 2, last}) {
    for (const vp::Mapping& mapping : log.page_table(transaction, snapshot).in_order())
      base::check(joined.find(snapshot, mapping.row) == mapping.content, "joint and single scans agree");
  }
  transaction.rollback();

  // The rival has rows by key and snapshot in one table, and searches for each row.
  const storage::Table index = engine.table("ordered-bench");
  const CpuWatch indexing;
  for (size_t begin = 0; begin < mappings.size(); begin += 1'000) {
    storage::in_transaction(*engine, [&](storage::Transaction& writing) {
      for (size_t i = begin; i < std::min<size_t>(begin + 1'000, mappings.size()); ++i)
        index.put(writing, index_key(mappings[i], i + 1), "content");
    });
  }
  const double indexing_us = indexing.seconds() * 1e6 / static_cast<double>(mappings.size());
  storage::Transaction reading(*engine, storage::Transaction::Mode::read);
  const double ordered_ms =
      1e3 * median_cpu_seconds(3, [&](size_t) {
        storage::TableCursor cursor = index.cursor(reading);
        vp::PageTable table;
        for (uint64_t row = 1; row <= settings.rows; ++row) {
          if (!cursor.seek(index_key({static_cast<vp::RecordId>(row), 0}, first))) break;
          const vp::Mapping mapping{static_cast<vp::RecordId>(row), base::load_be64(cursor.key().data() + 8)};
          table.take({&mapping, 1});
        }
        base::check(table.size() == settings.rows, "every row was written since");
      });

  Figure figure{"S4", "In the engine's tables", {}, {}, {}, {}};
  figure.tables.push_back(
      {fmt::format("{} mappings, 80/20, four levels with fan-in 8", number_text(static_cast<double>(mappings.size()))),
       {"", "Skippy", "rows ordered by key and snapshot"},
       {{"to append a mapping, CPU µs", number_text(appending_us), number_text(indexing_us)},
        {"to seal it into the levels, CPU ns", number_text(sealing_ns), ""},
        {"a page table, nodes in memory, CPU ms", number_text(median(warm)), number_text(ordered_ms)},
        {"a page table, caches empty, CPU ms", number_text(median(cold)), ""},
        {"one row, by a scan that stops there, CPU ms", number_text(median(single)), ""},
        {fmt::format("{} rows, by a page table that is made as far as they need it, CPU ms", few), number_text(median(some)), ""},
        {fmt::format("{} snapshots, joint / one by one, CPU ms", settings.range),
         fmt::format("{} / {}", number_text(joint * 1e3), number_text(alone * 1e3)), ""}}});
  report.figures.push_back(std::move(figure));

  const std::string what =
      fmt::format("{} rows, a snapshot an update, 80/20, four levels", number_text(static_cast<double>(settings.rows)));
  report.goals.push_back({"page table from memory", "ms", median(warm), 0.5, true,
                          what + "; paper 13.9 s, an ordered index beside it " + number_text(ordered_ms) + " ms"});
  report.goals.push_back(
      {"page table from disk", "ms", median(cold), 3, true, what + "; engine opened anew, the operating system's cache warm"});
  double worst = 0;
  for (const auto& [name, ms] : costs.ms) worst = std::max(worst, ms);
  if (const auto none = costs.ms.find("50/50"); none != costs.ms.end())
    report.goals.push_back({"worst skew against none", "×", worst / none->second, 2, true,
                            "page tables, four levels, CPU time; the paper has about 1"});
  report.goals.push_back(
      {fmt::format("range of {} snapshots: one by one against jointly", settings.range), "×", alone / joint, 10, false, what});
}

}  // namespace

void run_skippy(const Settings& settings, Report& report) {
  const Costs costs = run_skews(settings, report);
  run_scaling(settings, report);
  run_ages(settings, report);
  run_tables(settings, costs, report);
}

}  // namespace bench::past
