// Figures 7, 11, 12, 15 and 16 have texts in many versions in one index, and an index a block of transactions.
#include <fmt/core.h>

#include <algorithm>
#include <iostream>

#include "bench/data/workload.h"
#include "bench/measure/cpu_clock.h"
#include "bench/merkle/figures.h"
#include "bench/merkle/version_sets.h"

namespace bench::merkle {
namespace {

// Measured holds the results of all structures, side by side, for one set of data.
struct Measured {
  Table throughput{"", {"", "load, records a CPU second", "reads", "writes"}, {}};
  Table read_us{"read, µs", {"", "median", "90 %", "99 %", "99.9 %"}, {}}, write_us{"write, µs", read_us.columns, {}};
  Plot bytes{"Storage", "versions", "MB of nodes", false, {}}, nodes{"Nodes", "versions", "nodes", false, {}};

  void begin(const std::string& name) {
    for (Plot* plot : {&bytes, &nodes}) plot->series.push_back({name, {}});
  }
  void store(size_t version, const siri::MemoryNodes& stored) {
    bytes.series.back().points.emplace_back(version, static_cast<double>(stored.bytes()) / 1e6);
    nodes.series.back().points.emplace_back(version, stored.count());
  }
  void speeds(const std::string& name, double load, double reads, double writes) {
    throughput.rows.push_back({name, number_text(load), number_text(reads), number_text(writes)});
  }
  static void latencies(Table& table, const std::string& name, std::vector<double> all) {
    std::sort(all.begin(), all.end());
    std::vector<std::string> row{name};
    for (const double part : {0.5, 0.9, 0.99, 0.999})
      row.push_back(number_text(all[static_cast<size_t>(part * static_cast<double>(all.size() - 1))]));
    table.rows.push_back(std::move(row));
  }
};

double sum(const std::vector<double>& all) {
  double sum = 0;
  for (const double one : all) sum += one;
  return sum;
}

// The CPU microseconds of each call.
template <class Work>
std::vector<double> each_us(size_t calls, Work&& work) {
  std::vector<double> all;
  for (size_t i = 0; i < calls; ++i) {
    const CpuWatch watch;
    work(i);
    all.push_back(watch.seconds() * 1e6);
  }
  return all;
}

size_t size_of(const VersionSet& set) {
  size_t records = 0;
  for (const auto& batch : set.batches) records += batch.size();
  return records;
}

// Measures one index: its versions, then reads and writes of uniformly chosen keys.
void measure_texts(const Settings& settings, const VersionSet& set, const NamedIndex& named, Measured& measured) {
  Tree tree(named.options);
  measured.begin(named.name);
  double load = 0;
  for (size_t i = 0; i < set.batches.size(); ++i) {
    load += tree.put(set.batches[i], set.batches[i].size());
    if ((i + 1) % std::max<size_t>(1, set.batches.size() / 20) == 0) measured.store(i + 1, tree.nodes);
  }
  base::Random random(19);
  const auto any = [&]() -> const Bytes& { return set.keys[random.below(set.keys.size())]; };
  std::vector<double> reads = each_us(settings.operations, [&](size_t) {
    base::check(tree.index->find(tree.nodes, tree.root, any()).has_value(), "a text is found");
  });
  std::vector<Record> changes;
  for (size_t i = 0; i < settings.operations; ++i) changes.push_back({any(), record(i).value});
  const siri::Hash before = tree.root;
  const double batched = tree.put(changes, 4'000);
  tree.root = before;
  std::vector<double> writes = each_us(
      changes.size(), [&](size_t i) { tree.root = tree.index->put(tree.nodes, tree.root, changes[i].key, changes[i].value); });
  measured.speeds(named.name, static_cast<double>(size_of(set)) / load, static_cast<double>(reads.size()) * 1e6 / sum(reads),
                  static_cast<double>(changes.size()) / batched);
  Measured::latencies(measured.read_us, named.name, std::move(reads));
  Measured::latencies(measured.write_us, named.name, std::move(writes));
}

// Measures an index a block, built at once; its root goes to the end of a chain. A look-up of a transaction asks block after
// block, the newest first.
void measure_blocks(const Settings& settings, const VersionSet& set, const NamedIndex& named, Measured& measured) {
  Tree tree(named.options);
  const siri::Hash empty = tree.root;
  measured.begin(named.name);
  std::vector<siri::Hash> chain;
  std::vector<double> writes;  // a transaction's share
  for (const auto& batch : set.batches) {
    const CpuWatch watch;
    tree.root = empty;
    tree.put(batch, batch.size());
    chain.push_back(tree.root);
    writes.push_back(watch.seconds() * 1e6 / static_cast<double>(batch.size()));
    if (chain.size() % std::max<size_t>(1, set.batches.size() / 20) == 0) measured.store(chain.size(), tree.nodes);
  }
  base::Random random(19);
  std::vector<double> reads = each_us(settings.operations / 10, [&](size_t) {
    const Bytes& key = set.keys[random.below(set.keys.size())];
    const auto in = std::find_if(chain.rbegin(), chain.rend(),
                                 [&](const siri::Hash& root) { return tree.index->find(tree.nodes, root, key).has_value(); });
    base::check(in != chain.rend(), "a transaction is found");
  });
  const double load = static_cast<double>(writes.size()) * 1e6 / sum(writes);
  measured.speeds(named.name, load, static_cast<double>(reads.size()) * 1e6 / sum(reads), load);
  Measured::latencies(measured.read_us, named.name, std::move(reads));
  Measured::latencies(measured.write_us, named.name, std::move(writes));
}

}  // namespace

void run_real_data(const Settings& settings, Report& report) {
  using Measure = void (*)(const Settings&, const VersionSet&, const NamedIndex&, Measured&);
  const auto run = [&](const VersionSet& set, Measure measure) {
    Measured measured;
    for (const NamedIndex& named : all_indexes()) {
      std::cerr << set.about << ": " << named.name << "\n";
      measure(settings, set, named, measured);
    }
    return measured;
  };
  const VersionSet texts = text_versions(settings.real_data ? find_data() : std::nullopt, settings.text_edits, settings.versions);
  Measured of_texts = run(texts, measure_texts);
  const VersionSet blocks = transaction_blocks(settings.versions, settings.block_transactions);
  Measured of_blocks = run(blocks, measure_blocks);

  of_texts.throughput.title =
      "7(a), texts: an index of all pages, a version a batch of edits; then reads one by one and writes in batches of 4,000";
  of_blocks.throughput.title =
      "7(b), transactions: an index a block, built at once; a read looks into block after block, the newest first";
  report.figures.push_back({"7",
                            "Throughput on texts and on blocks of transactions",
                            {},
                            {},
                            {of_texts.throughput, of_blocks.throughput},
                            {texts.about, blocks.about}});
  report.figures.push_back({"11", "CPU time of one operation, texts", {}, {}, {of_texts.read_us, of_texts.write_us}, {}});
  of_blocks.write_us.title += ", a transaction's share of its block";
  report.figures.push_back(
      {"12", "CPU time of one operation, transactions", {}, {}, {of_blocks.read_us, of_blocks.write_us}, {}});
  report.figures.push_back({"15", "Storage of texts, all versions", {}, {of_texts.bytes, of_texts.nodes}, {}, {}});
  report.figures.push_back({"16",
                            "Storage of transactions, all blocks",
                            {},
                            {of_blocks.bytes, of_blocks.nodes},
                            {},
                            {"an empty bucket tree has 10,000 buckets for a block of some hundred transactions"}});
}

}  // namespace bench::merkle
