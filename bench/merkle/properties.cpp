// Figures 19 and 20 have the POS-Tree without one of the properties (§5.5).
#include <fmt/core.h>

#include <iostream>

#include "bench/merkle/figures.h"
#include "bench/merkle/sharing.h"

namespace bench::merkle {

void run_without_properties(const Settings& settings, Report& report) {
  const Collaboration any = scaled(settings.scale);
  const std::string what = fmt::format("10 groups, {} records at first and {} more in batches of {}; all versions", any.initial,
                                       any.workload, any.batch);
  Figure variant{
      "19", "The POS-Tree without structural invariance, by overlap",
      {},   {},
      {},   {what, "without: no node ends by its content, each that grew too large is split evenly, which is the MVMB+-Tree"}};
  Figure copied{"20", "The POS-Tree without recursive identity, by overlap",
                {},   {},
                {},   {what, "every version has copies of all its nodes: nothing is shared, whatever they hold"}};
  struct Plots {
    Plot bytes{"Storage", "overlap, %", "MB of nodes", false, {}}, nodes{"Nodes", "overlap, %", "nodes", false, {}},
        dedup{"Deduplication ratio", "overlap, %", "", false, {}}, shared{"Node sharing ratio", "overlap, %", "", false, {}};
    void begin(const char* name) {
      for (Plot* plot : {&bytes, &nodes, &dedup, &shared}) plot->series.push_back({name, {}});
    }
    void add(size_t series, double overlap, uint64_t bytes_stored, uint64_t nodes_stored, double dedup_ratio, double node_ratio) {
      bytes.series[series].points.emplace_back(overlap, static_cast<double>(bytes_stored) / 1e6);
      nodes.series[series].points.emplace_back(overlap, nodes_stored);
      dedup.series[series].points.emplace_back(overlap, dedup_ratio);
      shared.series[series].points.emplace_back(overlap, node_ratio);
    }
    void add(size_t series, double overlap, const Sharing& sharing) {
      add(series, overlap, sharing.stored_bytes(), sharing.stored_nodes(), sharing.dedup_ratio(), sharing.node_ratio());
    }
  };
  Plots of_variant, of_copied;
  for (Plots* plots : {&of_variant, &of_copied}) plots->begin("POS-Tree");
  of_variant.begin("without structural invariance");
  of_copied.begin("all nodes copied");
  for (const double overlap : overlaps()) {
    std::cerr << "figures 19, 20: overlap " << overlap << "\n";
    const Collaboration how = scaled(settings.scale, overlap);
    const Sharing whole = collaborate(how, {}), evenly = collaborate(how, {.structure = siri::Structure::mvmb_tree});
    of_variant.add(0, 100 * overlap, whole);
    of_variant.add(1, 100 * overlap, evenly);
    of_copied.add(0, 100 * overlap, whole);
    of_copied.add(1, 100 * overlap, whole.all_bytes(), whole.all_nodes(), 0, 0);
  }
  Table last{"the last versions alone, overlap 100 %: the same records in ten orders",
             {"", "deduplication ratio", "node sharing ratio", "MB of nodes", "nodes"},
             {}};
  for (const auto& [name, structure] : {std::pair("POS-Tree", siri::Structure::pos_tree),
                                        std::pair("without structural invariance", siri::Structure::mvmb_tree)}) {
    Collaboration same = scaled(settings.scale, 1);
    same.heads_only = true;
    const Sharing sharing = collaborate(same, {.structure = structure});
    last.rows.push_back({name, number_text(sharing.dedup_ratio()), number_text(sharing.node_ratio()),
                         number_text(static_cast<double>(sharing.stored_bytes()) / 1e6),
                         number_text(static_cast<double>(sharing.stored_nodes()))});
  }
  variant.tables.push_back(std::move(last));
  variant.plots = {of_variant.bytes, of_variant.nodes, of_variant.dedup, of_variant.shared};
  copied.plots = {of_copied.bytes, of_copied.nodes, of_copied.dedup, of_copied.shared};
  report.figures.push_back(std::move(variant));
  report.figures.push_back(std::move(copied));
}

}  // namespace bench::merkle
