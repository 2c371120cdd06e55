#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "bench/branches/figures.h"
#include "bench/branches/queries.h"
#include "bench/measure/cpu_clock.h"

namespace bench::branches {

using namespace versions;

namespace {

constexpr Layout layouts[] = {Layout::tuple_first, Layout::tuple_first_by_tuple, Layout::version_first, Layout::hybrid};
constexpr Strategy strategies[] = {Strategy::deep, Strategy::flat, Strategy::science, Strategy::curation};

struct Measured {
  double query_ms[queries + 1] = {};  // from 1
  double load_ms = 0, commit_ms = 0, checkout_ms = 0, history_kb = 0, total_mb = 0, written_mb = 0;
  MergeFigures two_way, three_way;
};

double checkout_ms(Dataset& data) {
  base::Random random(3);
  const size_t count = std::min<size_t>(50, data.commits.size());
  data.repository.forget();
  const CpuWatch watch;
  for (size_t i = 0; i < count; ++i) {
    storage::Transaction transaction(data.repository.disk(), storage::Transaction::Mode::read);
    const CommitNumber commit = data.commits[random.below(data.commits.size())];
    data.repository.store().scan(transaction, data.repository.branches().view(transaction, commit, 0))->next();
  }
  return watch.seconds() * 1e3 / static_cast<double>(count);
}

// Rewrites one column of every record of a branch, or all of them. Returns by how many % the data grew.
double table_wise_growth(Dataset& data, bool one_column) {
  Repository& repository = data.repository;
  const uint64_t before = repository.settled_bytes();
  base::Random random(4);
  std::vector<RecordId> records;
  {
    storage::Transaction transaction(repository.disk(), storage::Transaction::Mode::read);
    const auto scan = repository.store().scan(transaction, repository.view(transaction, data.scanned));
    while (scan->next()) records.push_back(scan->record());
  }
  for (size_t begin = 0; begin < records.size(); begin += 100) {
    storage::in_transaction(repository.disk(), [&](storage::Transaction& transaction) {
      const View view = repository.view(transaction, data.scanned);
      for (size_t i = begin; i < std::min(records.size(), begin + 100); ++i) {
        const base::Bytes old = *repository.store().content(transaction, records[i]);
        const base::Bytes now = one_column ? with_column(old, 7, static_cast<int64_t>(random()))
                                           : random_record(random, bson::DocumentView(old)["_id"].as_int64());
        repository.store().update(transaction, view, records[i], now, transaction.next_stamp());
      }
    });
  }
  repository.commit(data.scanned);
  return 100 * (static_cast<double>(repository.settled_bytes()) / static_cast<double>(before) - 1);
}

std::string folder_of(const Settings& settings, Layout layout) {
  return fmt::format("{}/data-{}", settings.scratch, static_cast<int>(layout));
}

// Each round runs a query on all layouts in turn, so that the machine's other work disturbs all of them alike; the smallest time
// counts.
void run_queries(const std::vector<std::unique_ptr<Dataset>>& sets, int rounds, const std::string& row_name,
                 std::vector<Measured>& all) {
  for (size_t query = 1; query <= queries; ++query) {
    Found first;
    for (int round = 0; round < 5 * rounds; ++round) {
      for (size_t at = 0; at < sets.size(); ++at) {
        Found found;
        const double ms = 1e3 * least_cpu_seconds(1, [&] { found = run_query(*sets[at], query); });
        double& least = all[at].query_ms[query];
        least = round == 0 ? ms : std::min(least, ms);
        // Merges write documents in the order in which layouts list them, so this checks that all layouts have found the same.
        if (round == 0 && at == 0) first = found;
        if (!(found == first))
          throw std::runtime_error(fmt::format("Q{} on {} found something else with {}", query, row_name, name_of(layouts[at])));
      }
    }
  }
}

std::string table_row_name(Strategy strategy, size_t branches) {
  return fmt::format("{}, {} branches", name_of(strategy), branches);
}

}  // namespace

void run_layouts(const Settings& settings, Report& report) {
  Figure query_figures[queries + 1];
  for (size_t query = 1; query <= queries; ++query) {
    constexpr const char* titles[] = {"", "Scan of one version", "Difference of two versions", "Join of two versions",
                                      "All heads, each record with its branches"};
    query_figures[query] = {fmt::format("Q{}", query), titles[query], {}, {}, {}, {}};
    query_figures[query].tables.push_back({"CPU, ms", {"", "tuple-first", "by tuple", "version-first", "hybrid"}, {}});
  }
  Figure history{"T2", "Commits, checkouts and the bytes of the history", {}, {}, {}, {}},
      merges{"T3", "Merges, by what the sides differ in", {}, {}, {}, {}};
  Figure table_wise{"T4", "Updates of every record of a branch", {}, {}, {}, {}}, loads{"T5", "Loading", {}, {}, {}, {}};
  history.tables.push_back({"", {"", "layout", "commit, CPU ms", "checkout, CPU ms", "history, KB", "of the data, %"}, {}});
  merges.tables.push_back({"", {"", "layout", "merges", "documents, MB/s", "fields, MB/s"}, {}});
  table_wise.tables.push_back(
      {"", {"", "layout", "whole records: growth, %", "Q1 before, CPU ms", "Q1 after, CPU ms", "one column: growth, %"}, {}});
  loads.tables.push_back({"", {"", "layout", "written, MB", "CPU s", "MB per CPU s", "on disk, of what was written"}, {}});

  double worst = 0, worst_growth = 0;
  std::string worst_where, growth_where;
  for (const size_t branches : settings.branches) {
    for (const Strategy strategy : strategies) {
      const std::string row_name = table_row_name(strategy, branches);
      std::vector<Measured> all;
      std::vector<std::unique_ptr<Dataset>> sets;
      for (const Layout layout : layouts) {
        std::cerr << row_name << ", " << name_of(layout) << "\n";
        sets.push_back(
            std::make_unique<Dataset>(folder_of(settings, layout), DatasetOptions{.layout = layout,
                                                                                  .strategy = strategy,
                                                                                  .operations = settings.operations,
                                                                                  .branches = branches,
                                                                                  .commit_every = settings.commit_every}));
        sets.back()->repository.disk().engine().checkpoint();
        all.emplace_back();
      }
      run_queries(sets, settings.rounds, row_name, all);
      for (size_t at = 0; at < std::size(layouts); ++at) {
        const Layout layout = layouts[at];
        Measured& one = all[at];
        {
          Dataset& data = *sets[at];
          one.load_ms = data.load_seconds * 1e3;
          one.commit_ms = data.commit_seconds * 1e3 / static_cast<double>(data.commits.size());
          one.two_way = data.two_way;
          one.three_way = data.three_way;
          one.written_mb = static_cast<double>(data.written_bytes) / 1e6;
          one.checkout_ms = checkout_ms(data);
          one.total_mb = static_cast<double>(data.repository.settled_bytes()) / 1e6;
          one.history_kb =
              static_cast<double>(data.repository.table_bytes("states") + data.repository.table_bytes("entries")) / 1e3;
          if (branches == settings.branches.front()) {
            const double column = table_wise_growth(data, true);
            if (layout == Layout::hybrid && column > worst_growth) {
              worst_growth = column;
              growth_where = row_name;
            }
            const double records = table_wise_growth(data, false);
            const double after = 1e3 * least_cpu_seconds(settings.rounds, [&] { run_query(data, 1); });
            table_wise.tables[0].rows.push_back({row_name, name_of(layout), number_text(records), number_text(one.query_ms[1]),
                                                 number_text(after), number_text(column)});
          }
        }
        sets[at].reset();
        std::filesystem::remove_all(folder_of(settings, layout));
        history.tables[0].rows.push_back({row_name, name_of(layout), number_text(one.commit_ms), number_text(one.checkout_ms),
                                          number_text(one.history_kb), number_text(one.history_kb / 10 / one.total_mb)});
        loads.tables[0].rows.push_back({row_name, name_of(layout), number_text(one.written_mb), number_text(one.load_ms / 1e3),
                                        number_text(one.written_mb / one.load_ms * 1e3),
                                        number_text(one.total_mb / one.written_mb)});
        const auto rate = [](const MergeFigures& figures) {
          return figures.seconds > 0 ? number_text(static_cast<double>(figures.bytes) / 1e6 / figures.seconds) : "-";
        };
        if (strategy == Strategy::curation) {
          merges.tables[0].rows.push_back({row_name, name_of(layout), std::to_string(one.two_way.count + one.three_way.count),
                                           rate(one.two_way), rate(one.three_way)});
        }
      }
      for (size_t query = 1; query <= queries; ++query) {
        std::vector<std::string> row{row_name};
        BarChart chart{fmt::format("{}: CPU, ms", row_name), {}};
        for (size_t i = 0; i < all.size(); ++i) {
          row.push_back(number_text(all[i].query_ms[query]));
          chart.bars.push_back({name_of(layouts[i]), all[i].query_ms[query], 0, ""});
        }
        query_figures[query].tables[0].rows.push_back(std::move(row));
        query_figures[query].charts.push_back(std::move(chart));
        const double best = std::min({all[0].query_ms[query], all[1].query_ms[query], all[2].query_ms[query]});
        if (const double ratio = all[3].query_ms[query] / best; ratio > worst) {
          worst = ratio;
          worst_where = fmt::format("Q{}, {}", query, row_name);
        }
      }
    }
  }
  for (size_t query = 1; query <= queries; ++query) report.figures.push_back(std::move(query_figures[query]));
  for (Figure* figure : {&history, &merges, &table_wise, &loads}) report.figures.push_back(std::move(*figure));
  report.goals.push_back({"hybrid, by the best of the other layouts, at worst", "×", worst, 1.1, true, worst_where});
  report.goals.push_back(
      {"growth by an update of one column of every record of a branch", "%", worst_growth, 5, true, growth_where});
}

}  // namespace bench::branches
