// This measures what a snapshot costs writers of a collection, and what reading as of one costs (Retro §5).
#include <fmt/core.h>

#include <numeric>
#include <optional>

#include "base/error.h"
#include "bench/measure/cpu_clock.h"
#include "bench/past/documents.h"
#include "bench/past/figures.h"
#include "storage/contents/row_past.h"
#include "storage/store.h"

namespace bench::past {

namespace {

// Takes one collection, without and with its past attached in turns, and never a snapshot.
struct Undeclared {
  double without_us = 0, with_us = 0;  // an update
  double added = 0;                    // a share, the median of pairs of turns
  double asking_ns = 0;                // for the newest snapshot before a write
};
Undeclared run_undeclared(const Settings& settings) {
  Documents documents(settings.scratch + "/undeclared", settings.documents);
  const size_t pairs = std::max<size_t>(4, 20 * settings.documents / Documents::batch);
  std::vector<double> without, with, ratios;
  for (size_t i = 0; i < settings.documents / Documents::batch; ++i) documents.update();
  for (size_t i = 0; i < pairs; ++i) {
    double us[2];
    for (const size_t turn : {i % 2, 1 - i % 2}) {
      documents.attach_past(turn == 1);
      us[turn] = documents.update() * 1e6 / Documents::batch;
    }
    without.push_back(us[0]);
    with.push_back(us[1]);
    ratios.push_back(us[1] / us[0]);
  }
  constexpr size_t asked = 1'000'000;
  uint64_t shown = 0;
  const CpuWatch watch;
  for (size_t i = 1; i <= asked; ++i) shown += documents.store().declared_snapshots().newest_before(i);
  const double asking_ns = watch.seconds() * 1e9 / asked;
  base::check(shown == 0, "none is declared");
  return {median(without), median(with), median(std::move(ratios)) - 1, asking_ns};
}

}  // namespace

void run_reads(const Settings& settings, Report& report) {
  const Undeclared undeclared = run_undeclared(settings);
  Documents without(settings.scratch + "/without", settings.documents), with(settings.scratch + "/with", settings.documents);
  // The two go in turns, and all documents are written once before it counts, because writing to what was just loaded costs less.
  const size_t turns = std::max<size_t>(4, settings.documents / Documents::batch);
  for (size_t i = 0; i < settings.documents / Documents::batch; ++i) {
    without.update();
    with.update();
  }
  const auto first = with.declare();
  const double found_now = with.find_us(with.now(), settings.rounds),
               found_shared = with.find_us(*with.as_of(first), settings.rounds);
  const double scanned_now = with.scan_ms(with.now(), settings.rounds),
               scanned_shared = with.scan_ms(*with.as_of(first), settings.rounds);
  const int64_t bytes_before = with.file_bytes() - without.file_bytes();
  const uint64_t saved_before = with.past().saved();
  std::vector<double> plain, saving, declaring;
  // Writes all documents once, each behind another snapshot of them. Returns the first snapshot.
  const auto update_all = [&] {
    double plain_seconds = 0, saving_seconds = 0;
    std::optional<vp::DeclaredSnapshot> before;
    for (size_t i = 0; i < turns; ++i) {
      plain_seconds += without.update();
      const CpuWatch watch;
      const auto snapshot = with.declare();
      declaring.push_back(watch.seconds() * 1e6);
      if (!before) before = snapshot;
      saving_seconds += with.update();
      with.past().seal();
    }
    const double updates = static_cast<double>(turns * Documents::batch);
    plain.push_back(plain_seconds * 1e6 / updates);
    saving.push_back(saving_seconds * 1e6 / updates);
    return *before;
  };
  // Writes so often that all pre-states in rows have left them, and more came: the cost of that falls into one round of nine.
  constexpr size_t leaves_in = storage::RowPreStates::count_max + 1, in_rows = 4;
  const auto sum = [](const std::vector<double>& of, size_t begin) {
    return std::accumulate(of.begin() + static_cast<ptrdiff_t>(begin), of.begin() + static_cast<ptrdiff_t>(begin + leaves_in),
                           0.0) /
           leaves_in;
  };
  std::vector<double> plain_us, saving_us, ratios;
  for (int i = 0; i < 3; ++i) {
    for (size_t round = 0; round < leaves_in; ++round) update_all();
    const size_t begin = static_cast<size_t>(i) * leaves_in;
    plain_us.push_back(sum(plain, begin));
    saving_us.push_back(sum(saving, begin));
    ratios.push_back(saving_us.back() / plain_us.back());
  }
  const double saved = static_cast<double>(with.past().saved() - saved_before);
  const double bytes = static_cast<double>(with.file_bytes() - without.file_bytes() - bytes_before) / saved;
  const auto recent = update_all();
  for (size_t i = 1; i < in_rows; ++i) update_all();
  struct Read {
    double found_us, scanned_ms;
  };
  const auto read = [&](const vp::DeclaredSnapshot& snapshot) {
    const auto then = with.as_of(snapshot);
    with.find_us(*then, 1);
    return Read{with.find_us(*then, settings.rounds), with.scan_ms(*then, settings.rounds)};
  };
  const Read in_row = read(recent), left = read(first),
             later{with.find_us(with.now(), settings.rounds), with.scan_ms(with.now(), settings.rounds)};

  Figure figure{"R1", "A collection and its past", {}, {}, {}, {}};
  figure.tables.push_back(
      {fmt::format("{} documents of 1 KB, one field changed, {} updates a transaction",
                   number_text(static_cast<double>(settings.documents)), Documents::batch),
       {"", "now", "shared", "saved, in its row", "saved, and left it"},
       {{"an update without / with a snapshot before each transaction, CPU µs", number_text(median(plain_us)), "",
         number_text(median(saving_us)), ""},
        {"an update, nobody keeps the past / kept, none declared, CPU µs",
         fmt::format("{} / {}", number_text(undeclared.without_us), number_text(undeclared.with_us)), "", "", ""},
        {"to declare a snapshot, CPU µs", "", "", number_text(median(declaring)), ""},
        {"a document by its _id, CPU µs", number_text(found_now), number_text(found_shared), number_text(in_row.found_us),
         number_text(left.found_us)},
        {"the same, while there are snapshots, CPU µs", number_text(later.found_us), "", "", ""},
        {"a scan, CPU ms", number_text(scanned_now), number_text(scanned_shared), number_text(in_row.scanned_ms),
         number_text(left.scanned_ms)},
        {"the same, while there are snapshots, CPU ms", number_text(later.scanned_ms), "", "", ""},
        {"bytes of files a saved change", "", "", "", number_text(bytes)}}});
  figure.notes.push_back(
      fmt::format("shared: not written since the snapshot; in its row: written {} times since; left it: {} times; files after a "
                  "checkpoint, less what is free in them, beside those of a collection without snapshots",
                  in_rows, 3 * leaves_in + in_rows));
  report.figures.push_back(std::move(figure));
  report.goals.push_back(
      {"CPU an update, none declared", "% more", 100 * undeclared.added, 1, true,
       fmt::format("the past attached and not, on one collection in turns; to ask for the newest snapshot takes {} ns",
                   number_text(undeclared.asking_ns))});
  report.goals.push_back({"CPU an update, a snapshot before each transaction of 1,000", "×", median(ratios), 1.13, true,
                          "against none declared, beside it; every update is the first since the snapshot"});
  report.goals.push_back({"as-of point read, still shared", "×", found_shared / found_now, 1.05, true, "against a current one"});
  report.goals.push_back({"as-of point read, saved", "×", in_row.found_us / later.found_us, 1.5, true,
                          "against a current one, of what is kept in the record's row"});
  report.goals.push_back(
      {"as-of point read, saved long ago", "×", left.found_us / later.found_us, 1.5, true, "the same of what has left it"});
  report.goals.push_back({"as-of scan", "×", std::max(scanned_shared / scanned_now, in_row.scanned_ms / later.scanned_ms), 2,
                          true, "against a current one, shared or saved in the records' rows"});
  report.goals.push_back(
      {"as-of scan, saved long ago", "×", left.scanned_ms / later.scanned_ms, 2, true, "the same of what has left them"});
  report.goals.push_back({"bytes of a saved one-field change of 1 KB", "B", bytes, 200, true,
                          "files of the collection and its past, beside those of one without snapshots"});
}

}  // namespace bench::past
