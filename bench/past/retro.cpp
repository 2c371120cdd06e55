// This measures what a query of random documents costs as of a snapshot, warm and cold, by how unevenly documents were written
// (Retro §8, figures 5 to 7), and what WiredTiger's own ways of keeping the past cost beside it.
#include <fmt/core.h>

#include <iostream>

#include "base/error.h"
#include "bench/measure/cpu_clock.h"
#include "bench/past/documents.h"
#include "bench/past/figures.h"
#include "bench/past/overwrites.h"
#include "bench/peers/engine_past.h"

namespace bench::past {
namespace {

// Makes a snapshot before each transaction, until so many updates were made that the contents of the first snapshot have left
// nearly all rows.
vp::DeclaredSnapshot make_history(Documents& documents, const Skew& skew) {
  Overwrites updates(documents.size(), skew, 11);
  const auto pick = [&] { return static_cast<size_t>(updates.next().row - 1); };
  const auto first = documents.declare();
  for (size_t done = 0; done < documents.size() * 12; done += Documents::batch) {
    if (done > 0) documents.declare();
    documents.update(pick);
    documents.past().seal();
  }
  return first;
}

vp::PageTable page_table(Documents& documents, const vp::DeclaredSnapshot& snapshot) {
  storage::Transaction transaction(documents.store(), storage::Transaction::Mode::read);
  return documents.past().log(documents.id()).page_table(transaction, snapshot.stamp);
}

// Runs one query after the engine was opened anew.
struct Cold {
  double ms = 0;
  uint64_t blocks = 0, of_them_metadata = 0;
};
Cold cold(Documents& documents, size_t reads, const vp::DeclaredSnapshot* snapshot) {
  documents.reopen();
  const auto collection = snapshot ? documents.as_of(*snapshot) : nullptr;
  documents.find(snapshot ? *collection : documents.now(), 0);
  const uint64_t before = documents.blocks_read();
  const CpuWatch watch;
  Cold query;
  if (snapshot) {
    storage::Transaction transaction(documents.store(), storage::Transaction::Mode::read);
    documents.past().rows(transaction, documents.id(), snapshot->stamp);
    query.of_them_metadata = documents.blocks_read() - before;
  }
  documents.find(snapshot ? *collection : documents.now(), reads);
  query.ms = watch.seconds() * 1e3;
  query.blocks = documents.blocks_read() - before;
  return query;
}

std::string slower(double than, double that) {
  return fmt::format("{:.2f} ×", that / than);
}

void run_queries(const Settings& settings, Report& report) {
  const size_t reads = settings.documents / 10;
  Figure warm{"R5", "Retro, figure 5: a query of random documents, warm", {}, {}, {}, {}};
  Figure parts{"R6", "Retro, figure 6: what it is made of", {}, {}, {}, {}};
  Figure disk{"R7", "Retro, figure 7: the same with nothing in memory", {}, {}, {}, {}};
  Table queries{fmt::format("{} of {} documents of 1 KB by _id, CPU ms, and how much slower than now",
                            number_text(static_cast<double>(reads)), number_text(static_cast<double>(settings.documents))),
                {"updates", "now", "shared", "saved, page table known", "saved, page table built for it"},
                {}};
  Table components{"CPU time",
                   {"updates", "to put a mapping into a page table", "to look one up",
                    "a look-up of a shared document, beside one now", "of a saved one"},
                   {}};
  Table io{"Blocks read (CPU ms), and how much more than now",
           {"documents", "updates", "now", "as of the first snapshot", "of them for the page table"},
           {}};
  for (const Skew& skew : skews) {
    std::cerr << "bench: queries, " << skew.name << "\n";
    Documents documents(settings.scratch + "/retro-" + std::to_string(skew.hot), settings.documents);
    const auto first = make_history(documents, skew), last = documents.declare();
    const auto old = documents.as_of(first), shared = documents.as_of(last);
    std::vector<double> now, then, saved, built, looked_up;
    vp::PageTable table;
    size_t found = 0;
    for (int i = 0; i < settings.rounds; ++i) {
      now.push_back(documents.find(documents.now(), reads));
      then.push_back(documents.find(*shared, reads));
      saved.push_back(documents.find(*old, reads));
      const CpuWatch building;
      table = page_table(documents, first);
      built.push_back(building.seconds());
      const CpuWatch looking;
      for (size_t row = 1; row <= documents.size(); ++row) found += table.find(static_cast<storage::RecordId>(row)).has_value();
      looked_up.push_back(looking.seconds());
    }
    base::check(found == table.size() * static_cast<size_t>(settings.rounds), "every mapping is found");
    const double n = median(now), s = median(then), o = median(saved), b = median(built),
                 per_read = 1e6 / static_cast<double>(reads);
    queries.rows.push_back({skew.name, number_text(n * 1e3), fmt::format("{} ({})", number_text(s * 1e3), slower(n, s)),
                            fmt::format("{} ({})", number_text(o * 1e3), slower(n, o)),
                            fmt::format("{} ({})", number_text((o + b) * 1e3), slower(n, o + b))});
    components.rows.push_back({skew.name, fmt::format("{} µs", number_text(b * 1e6 / static_cast<double>(table.size()))),
                               fmt::format("{} µs", number_text(median(looked_up) * 1e6 / static_cast<double>(documents.size()))),
                               fmt::format("{} µs more", number_text((s - n) * per_read)),
                               fmt::format("{} µs more", number_text((o - n) * per_read))});
    if (&skew == &skews[0])
      warm.charts.push_back(
          {"50/50, CPU ms",
           {{"now", n * 1e3, 0, ""}, {"shared", s * 1e3, 0, ""}, {"saved", (o + b) * 1e3, o * 1e3, "with its page table"}}});
  }
  for (const size_t size : {settings.documents, settings.documents * 5}) {
    for (const Skew& skew : skews) {
      std::cerr << "bench: cold queries, " << size << " documents, " << skew.name << "\n";
      Documents documents(settings.scratch + "/cold-" + std::to_string(size) + "-" + std::to_string(skew.hot), size);
      const auto first = make_history(documents, skew);
      const Cold now = cold(documents, size / 100, nullptr), then = cold(documents, size / 100, &first);
      io.rows.push_back({number_text(static_cast<double>(size)), skew.name,
                         fmt::format("{} ({})", now.blocks, number_text(now.ms)),
                         fmt::format("{} ({}): {}", then.blocks, number_text(then.ms),
                                     slower(static_cast<double>(now.blocks), static_cast<double>(then.blocks))),
                         std::to_string(then.of_them_metadata)});
    }
  }
  warm.tables.push_back(std::move(queries));
  warm.notes.push_back(
      "The paper: shared 1.6 times as long as now, saved 2.7 times. The skewed ones leave some documents unwritten, which the "
      "first snapshot still shares.");
  parts.tables.push_back(std::move(components));
  parts.notes.push_back(
      "The paper: 0.55 µs to look up, 11 µs to put, 47 µs for what was saved after, 0.06 µs where that is cached.");
  disk.tables.push_back(std::move(io));
  disk.notes.push_back(
      "A hundredth of the documents, after the engine was opened anew. Blocks that the system still has in memory are counted as "
      "well.");
  for (Figure* figure : {&warm, &parts, &disk}) report.figures.push_back(std::move(*figure));
}

// --- WiredTiger's own

struct Costs {
  std::string name;
  double update_us = 0, declare_us = 0, find_now_us = 0, find_old_us = 0, scan_now_ms = 0, scan_old_ms = 0, bytes_a_change = 0;
};

// Runs the same steps on whatever keeps a past: everything is written once, then there is a snapshot before each of so many
// transactions.
template <class Store, class Declare, class Find, class Scan>
Costs measure(const char* name, const Settings& settings, Store& store, const std::function<double()>& update, Declare&& declare,
              Find&& find, Scan&& scan, bool keeps) {
  Costs costs{.name = name};
  const size_t turns = std::max<size_t>(4, 2 * settings.documents / Documents::batch), reads = settings.documents / 4;
  for (size_t i = 0; i < settings.documents / Documents::batch; ++i) update();
  auto first = declare();
  const int64_t before = store.file_bytes();
  std::vector<double> updates, declarations, now, old, scans, old_scans;
  for (size_t i = 0; i < turns; ++i) {
    if (keeps && i > 0) {
      const CpuWatch watch;
      declare();
      declarations.push_back(watch.seconds() * 1e6);
    }
    updates.push_back(update() * 1e6 / Documents::batch);
  }
  costs.bytes_a_change = static_cast<double>(store.file_bytes() - before) / static_cast<double>(turns * Documents::batch);
  for (int i = 0; i < settings.rounds; ++i) {
    now.push_back(find(reads, nullptr) * 1e6 / static_cast<double>(reads));
    scans.push_back(scan(nullptr) * 1e3);
    if (!keeps) continue;
    old.push_back(find(reads, &first) * 1e6 / static_cast<double>(reads));
    old_scans.push_back(scan(&first) * 1e3);
  }
  costs.update_us = median(updates), costs.declare_us = median(declarations), costs.find_now_us = median(now),
  costs.find_old_us = median(old);
  costs.scan_now_ms = median(scans), costs.scan_old_ms = median(old_scans);
  return costs;
}

Costs measure_ours(const Settings& settings, bool keeps) {
  Documents documents(settings.scratch + (keeps ? "/ours-kept" : "/ours"), settings.documents);
  const auto of = [&](const vp::DeclaredSnapshot* at) { return at ? documents.as_of(*at) : nullptr; };
  return measure(
      keeps ? "snapshots" : "without", settings, documents, [&] { return documents.update(); },
      [&] { return keeps ? documents.declare() : vp::DeclaredSnapshot{}; },
      [&](size_t reads, const vp::DeclaredSnapshot* at) {
        const auto old = of(at);
        return documents.find(old ? *old : documents.now(), reads);
      },
      [&](const vp::DeclaredSnapshot* at) {
        const auto old = of(at);
        return documents.scan_ms(old ? *old : documents.now(), 1) / 1e3;
      },
      keeps);
}

Costs measure_engine(const char* name, const Settings& settings, EnginePast::Way way) {
  EnginePast engine(settings.scratch + "/engine-" + std::to_string(static_cast<int>(way)), way, settings.documents, 1'000);
  return measure(
      name, settings, engine, [&] { return engine.update(Documents::batch); }, [&] { return engine.declare(); },
      [&](size_t reads, const int* at) { return engine.find(reads, at ? *at : 0); },
      [&](const int* at) { return engine.scan(at ? *at : 0); }, way != EnginePast::Way::none);
}

void run_beside_engine(const Settings& settings, Report& report) {
  Figure figure{"R8", "Beside WiredTiger's own ways of keeping the past", {}, {}, {}, {}};
  Table table{
      fmt::format("{} documents of 1 KB, a snapshot before each transaction of {} updates, all of them twice; CPU time",
                  number_text(static_cast<double>(settings.documents)), Documents::batch),
      {"", "an update, µs", "a snapshot, µs", "one now", "the same, old, µs", "a scan now", "old, ms", "bytes of files a change"},
      {}};
  std::cerr << "bench: beside WiredTiger\n";
  for (const Costs& costs : {measure_ours(settings, false), measure_ours(settings, true),
                             measure_engine("WiredTiger, without", settings, EnginePast::Way::none),
                             measure_engine("... one timestamp pinned", settings, EnginePast::Way::pinned_timestamp),
                             measure_engine("... named checkpoints", settings, EnginePast::Way::named_checkpoints)}) {
    const auto text = [](double value) { return value > 0 ? number_text(value) : "-"; };
    table.rows.push_back({costs.name, text(costs.update_us), text(costs.declare_us), text(costs.find_now_us),
                          text(costs.find_old_us), text(costs.scan_now_ms), text(costs.scan_old_ms), text(costs.bytes_a_change)});
  }
  figure.tables.push_back(std::move(table));
  figure.notes.push_back(
      "WiredTiger's are rows of bytes under a number, ours documents with an index; each is to be compared with its own first "
      "row. A pinned timestamp keeps every version since in memory or in the "
      "history store; a named checkpoint keeps its blocks, and writes all changed ones.");
  report.figures.push_back(std::move(figure));
}

}  // namespace

void run_retro(const Settings& settings, Report& report) {
  run_queries(settings, report);
  run_beside_engine(settings, report);
}

}  // namespace bench::past
