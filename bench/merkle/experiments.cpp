#include <fmt/core.h>

#include <algorithm>
#include <iostream>
#include <map>

#include "bench/measure/cpu_clock.h"
#include "bench/merkle/figures.h"
#include "bench/merkle/sharing.h"

namespace bench::merkle {
std::vector<uint64_t> sizes(const Settings& settings) {
  std::vector<uint64_t> all;
  for (uint64_t size = std::min<uint64_t>(10'000, settings.records_max); size <= settings.records_max; size *= 2)
    all.push_back(size);
  return all;
}

std::vector<double> overlaps() {
  std::vector<double> all;
  for (int tenths = 0; tenths <= 10; ++tenths) all.push_back(tenths / 10.0);
  return all;
}

namespace {

// Measures the CPU seconds of reads one by one and of writes in batches.
double run_workload(Tree& tree, const std::vector<Record>& writes, const std::vector<Record>& reads, size_t batch) {
  double seconds = tree.put(writes, batch);
  const CpuWatch watch;
  for (const Record& one : reads) base::check(tree.index->find(tree.nodes, tree.root, one.key).has_value(), "a record is found");
  return seconds + watch.seconds();
}

// Figure 6 has reads, half reads and writes, with three skews.
void throughput(const Settings& settings, Report& report) {
  Figure figure{"6", "Throughput on YCSB records",
                {},  {},
                {},  {"writes in batches of 4,000, reads one by one, after a build in one batch"}};
  std::map<std::pair<double, double>, Plot> plots;
  for (const double theta : {0.0, 0.5, 0.9}) {
    for (const double ratio : {0.0, 0.5, 1.0}) {
      plots[{theta, ratio}] = {
          fmt::format("θ = {}, {} % writes", theta, 100 * ratio), "records", "operations a CPU second", true, {}};
    }
  }
  for (const auto& [name, options] : all_indexes()) {
    std::cerr << "figure 6: " << name << "\n";
    for (auto& plot : plots) plot.second.series.push_back({name, {}});
    for (const uint64_t size : sizes(settings)) {
      Tree tree(options);
      tree.build(records(0, size));
      const siri::Hash root = tree.root;
      for (const double theta : {0.0, 0.5, 0.9}) {
        const Zipf zipf(size, theta);
        for (const double ratio : {0.0, 0.5, 1.0}) {
          base::Random random(size);
          const auto writes_count = static_cast<size_t>(static_cast<double>(settings.operations) * ratio);
          std::vector<Record> writes, reads;
          for (size_t i = 0; i < settings.operations; ++i)
            (i < writes_count ? writes : reads).push_back(record(zipf.next(random), 1));
          tree.root = root;
          plots[{theta, ratio}].series.back().points.emplace_back(
              size, static_cast<double>(settings.operations) / run_workload(tree, writes, reads, 4'000));
        }
      }
    }
  }
  for (auto& plot : plots) figure.plots.push_back(std::move(plot.second));
  report.figures.push_back(std::move(figure));
}

// Limits the records: a bucket tree's versions grow with the square, and those of 1,280,000 records don't fit in memory.
constexpr uint64_t records_of_all_versions_max = 320'000;

// Figures 8 and 14 load two versions in random orders, with another tenth of the records each, and show what one takes.
void differences_and_storage(const Settings& settings, Report& report) {
  Figure differences{"8", "Difference of two versions, loaded in random orders, a tenth of the records not the same", {}, {}, {},
                     {}};
  Figure storage{"14", "Storage of one group: all versions of a load in batches of 4,000, of 320,000 records at most", {}, {}, {},
                 {}};
  Plot milliseconds{"CPU time", "records", "ms", true, {}}, bytes{"Storage", "records", "MB of nodes", true, {}},
      nodes{"Nodes", "records", "nodes", true, {}};
  for (const auto& [name, options] : all_indexes()) {
    std::cerr << "figures 8, 14: " << name << "\n";
    for (Plot* plot : {&milliseconds, &bytes, &nodes}) plot->series.push_back({name, {}});
    for (const uint64_t size : sizes(settings)) {
      if (size > records_of_all_versions_max) break;
      base::Random random(size);
      Tree tree(options);
      std::vector<Record> all = records(0, size);
      shuffle(all, random);
      tree.put(all, 4'000);
      bytes.series.back().points.emplace_back(size, static_cast<double>(tree.nodes.bytes()) / 1e6);
      nodes.series.back().points.emplace_back(size, tree.nodes.count());
      const siri::Hash first = tree.root;
      shuffle(all, random);
      for (size_t i = 0; i < all.size(); i += 10) all[i].value = record(i, 2).value;
      tree.root = tree.index->empty(tree.nodes);
      tree.put(all, 4'000);
      size_t seen = 0;
      const double seconds = least_cpu_seconds(settings.rounds, [&] {
        seen = 0;
        tree.index->diff(tree.nodes, first, tree.root, [&](const siri::Difference&) { return ++seen > 0; });
      });
      base::check(seen == (size + 9) / 10, "all differences are found");
      milliseconds.series.back().points.emplace_back(size, seconds * 1e3);
    }
  }
  differences.plots.push_back(std::move(milliseconds));
  storage.plots.push_back(std::move(bytes));
  storage.plots.push_back(std::move(nodes));
  report.figures.push_back(std::move(differences));
  report.figures.push_back(std::move(storage));
}

// Figures 9 and 10 show the nodes on the way, and how long each operation takes.
void latencies(const Settings& settings, Report& report) {
  Figure paths{"9", fmt::format("Nodes on the way of a look-up, {} records", settings.records), {}, {}, {}, {}};
  Figure figure{"10", fmt::format("CPU time of one operation, {} records", settings.records), {}, {}, {}, {"writes one by one"}};
  Table lengths{"", {"", "1", "2", "3", "4", "5", "6", "7", "8", "9 or more"}, {}};
  std::map<std::pair<bool, double>, Table> tables;
  for (const auto& [name, options] : all_indexes()) {
    std::cerr << "figures 9, 10: " << name << "\n";
    Tree tree(options);
    tree.build(records(0, settings.records));
    std::vector<size_t> counts(9);
    for (const double theta : {0.0, 0.9}) {
      const Zipf zipf(settings.records, theta);
      for (const bool writes : {false, true}) {
        base::Random random(3);
        std::vector<double> all;
        for (size_t i = 0; i < settings.operations; ++i) {
          const Record one = record(zipf.next(random), i);
          const uint64_t before = tree.nodes.visits();
          const CpuWatch watch;
          if (writes)
            tree.root = tree.index->put(tree.nodes, tree.root, one.key, one.value);
          else
            base::check(tree.index->find(tree.nodes, tree.root, one.key).has_value(), "a record is found");
          all.push_back(watch.seconds() * 1e6);
          if (!writes && theta == 0) ++counts[std::min<size_t>(tree.nodes.visits() - before, 9) - 1];
        }
        std::sort(all.begin(), all.end());
        Table& table = tables[{writes, theta}];
        table.title = fmt::format("{}, θ = {}, µs", writes ? "write" : "read", theta);
        table.columns = {"", "median", "90 %", "99 %", "99.9 %"};
        std::vector<std::string> row{name};
        for (const double part : {0.5, 0.9, 0.99, 0.999})
          row.push_back(number_text(all[static_cast<size_t>(part * static_cast<double>(all.size() - 1))]));
        table.rows.push_back(std::move(row));
      }
    }
    std::vector<std::string> row{name};
    for (const size_t count : counts) row.push_back(std::to_string(count));
    lengths.rows.push_back(std::move(row));
  }
  paths.tables.push_back(std::move(lengths));
  for (auto& table : tables) figure.tables.push_back(std::move(table.second));
  report.figures.push_back(std::move(paths));
  report.figures.push_back(std::move(figure));
}

// Figures 17 and 18 and Table 3 have groups that work on the same records.
class Groups {
 public:
  Groups(const Settings& settings) : settings_(settings) {}

  Collaboration base(double overlap = 0.5, size_t batch = 4'000) const { return scaled(settings_.scale, overlap, batch); }
  size_t part(size_t whole) const {
    return std::max<size_t>(1, static_cast<size_t>(static_cast<double>(whole) * settings_.scale));
  }

  void figure(const char* number, const char* title, const char* axis, const std::vector<std::pair<double, Collaboration>>& cases,
              Report& report) const {
    Figure figure{number,
                  title,
                  {},
                  {},
                  {},
                  {fmt::format("10 groups, {} records at first and {} more; all versions; {} buckets", part(40'000),
                               part(160'000), part(10'000))}};
    Plot bytes{"Storage", axis, "MB of nodes", false, {}}, nodes{"Nodes", axis, "nodes", false, {}},
        dedup{"Deduplication ratio", axis, "", false, {}}, shared{"Node sharing ratio", axis, "", false, {}};
    for (const auto& [name, options] : all_indexes()) {
      std::cerr << "figure " << number << ": " << name << "\n";
      for (Plot* plot : {&bytes, &nodes, &dedup, &shared}) plot->series.push_back({name, {}});
      siri::IndexOptions scaled = options;
      scaled.buckets = static_cast<uint32_t>(part(options.buckets));  // as many records a bucket as in the paper
      for (const auto& [x, how] : cases) {
        const Sharing sharing = collaborate(how, scaled);
        bytes.series.back().points.emplace_back(x, static_cast<double>(sharing.stored_bytes()) / 1e6);
        nodes.series.back().points.emplace_back(x, sharing.stored_nodes());
        dedup.series.back().points.emplace_back(x, sharing.dedup_ratio());
        shared.series.back().points.emplace_back(x, sharing.node_ratio());
      }
    }
    figure.plots = {std::move(bytes), std::move(nodes), std::move(dedup), std::move(shared)};
    report.figures.push_back(std::move(figure));
  }

  void parameters(Report& report) const {
    Figure figure{"T3", "Structure parameters and deduplication, overlap 50 %", {}, {}, {}, {}};
    Table table{"", {"", "deduplication ratio", "paper", "MB of nodes", "node sharing ratio", "nodes"}, {}};
    const auto add = [&](const std::string& name, const siri::IndexOptions& options, const char* paper,
                         size_t key_bytes_min = 5) {
      std::cerr << "table 3: " << name << "\n";
      Collaboration how = base();
      how.key_bytes_min = key_bytes_min;
      const Sharing sharing = collaborate(how, options);
      table.rows.push_back({name, number_text(sharing.dedup_ratio()), paper,
                            number_text(static_cast<double>(sharing.stored_bytes()) / 1e6), number_text(sharing.node_ratio()),
                            number_text(static_cast<double>(sharing.stored_nodes()))});
    };
    const std::pair<uint32_t, const char*> node_bytes[] = {{512, "0.722"}, {1024, "0.6485"}, {2048, "0.5391"}, {4096, "0.4108"}};
    for (const auto& [bytes, paper] : node_bytes) add(fmt::format("POS-Tree, {} B", bytes), {.node_bytes = bytes}, paper);
    for (const auto& [bytes, paper] : node_bytes)
      add(fmt::format("POS-Tree, byte window, {} B", bytes), {.boundary = siri::Boundary::byte_window, .node_bytes = bytes},
          paper);
    const std::pair<uint32_t, const char*> buckets[] = {
        {4'000, "0.3301"}, {6'000, "0.4599"}, {8'000, "0.5433"}, {10'000, "0.6003"}};
    for (const auto& [count, paper] : buckets) {
      add(fmt::format("MBT, {} buckets", part(count)),
          {.structure = siri::Structure::bucket_tree, .buckets = static_cast<uint32_t>(part(count))}, paper);
    }
    // The longest have 15 bytes, all lengths are as frequent: the paper's means are 10.2, 12, 13.3 and 13.7.
    const std::pair<size_t, const char*> shortest[] = {{5, "0.9685"}, {9, "0.9693"}, {12, "0.9806"}, {13, "0.9823"}};
    for (const auto& [bytes, paper] : shortest) {
      add(fmt::format("MPT, keys of {} B in the mean", static_cast<double>(bytes + 15) / 2),
          {.structure = siri::Structure::patricia_trie}, paper, bytes);
    }
    figure.tables.push_back(std::move(table));
    report.figures.push_back(std::move(figure));
  }

 private:
  const Settings& settings_;
};

}  // namespace

void run_experiments(const Settings& settings, Report& report) {
  throughput(settings, report);
  differences_and_storage(settings, report);
  latencies(settings, report);
  run_breakdown(settings, report);
  const Groups groups(settings);
  std::vector<std::pair<double, Collaboration>> by_overlap, batches;
  for (const double overlap : overlaps()) by_overlap.emplace_back(100 * overlap, groups.base(overlap));
  for (const size_t batch : {1'000, 2'000, 4'000, 8'000, 16'000})
    batches.emplace_back(static_cast<double>(groups.part(batch)), groups.base(0.5, batch));
  groups.figure("17", "Groups that work on the same records, by overlap", "overlap, %", by_overlap, report);
  groups.figure("18", "The same by batch, overlap 50 %", "records a batch", batches, report);
  groups.parameters(report);
  run_real_data(settings, report);
  run_without_properties(settings, report);
  run_in_tables(settings, report);
}

}  // namespace bench::merkle
