// What a snapshot costs writers of a collection, and what reading as of one costs (Retro §5).
#include <fmt/core.h>

#include "base/error.h"
#include "bench/measure/cpu_clock.h"
#include "bench/past/documents.h"
#include "bench/past/figures.h"

namespace bench::past {

namespace {

// One collection, without and with its past attached in turns, and never a snapshot.
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
  for (size_t i = 1; i <= asked; ++i) shown += documents.engine().declared_snapshots().newest_before(i);
  const double asking_ns = watch.seconds() * 1e9 / asked;
  base::check(shown == 0, "none is declared");
  return {median(without), median(with), median(std::move(ratios)) - 1, asking_ns};
}

}  // namespace

void run_reads(const Settings& settings, Report& report) {
  const Undeclared undeclared = run_undeclared(settings);
  Documents without(settings.scratch + "/without", settings.documents), with(settings.scratch + "/with", settings.documents);
  // In turns, and all documents once before it counts: what was just loaded is cheaper to write to.
  const size_t turns = std::max<size_t>(4, 2 * settings.documents / Documents::batch);
  for (size_t i = 0; i < settings.documents / Documents::batch; ++i) {
    without.update();
    with.update();
  }
  const auto first = with.declare();
  const double found_now = with.find_us(with.now(), settings.rounds), found_shared = with.find_us(*with.as_of(first), settings.rounds);
  const double scanned_now = with.scan_ms(with.now(), settings.rounds), scanned_shared = with.scan_ms(*with.as_of(first), settings.rounds);
  const int64_t bytes_before = with.file_bytes();
  const uint64_t saved_before = with.past().saved();
  std::vector<double> plain, saving, declaring;
  for (size_t i = 0; i < turns; ++i) {
    plain.push_back(without.update() * 1e6 / Documents::batch);
    const CpuWatch watch;
    with.declare();
    declaring.push_back(watch.seconds() * 1e6);
    saving.push_back(with.update() * 1e6 / Documents::batch);
    with.past().seal();
  }
  const double saved = static_cast<double>(with.past().saved() - saved_before);
  const double bytes = static_cast<double>(with.file_bytes() - bytes_before) / saved;
  const auto old = with.as_of(first);
  with.find_us(*old, 1);
  const double found_saved = with.find_us(*old, settings.rounds), scanned_saved = with.scan_ms(*old, settings.rounds);
  const double found_later = with.find_us(with.now(), settings.rounds);

  Figure figure{"R1", "A collection and its past", {}, {}, {}, {}};
  figure.tables.push_back({fmt::format("{} documents of 1 KB, one field changed, {} updates a transaction", number_text(static_cast<double>(settings.documents)), Documents::batch),
                           {"", "now", "shared", "saved"},
                           {{"an update without / with a snapshot before each transaction, CPU µs", number_text(median(plain)), "", number_text(median(saving))},
                            {"an update, nobody keeps the past / kept, none declared, CPU µs", fmt::format("{} / {}", number_text(undeclared.without_us), number_text(undeclared.with_us)), "", ""},
                            {"to declare a snapshot, CPU µs", "", "", number_text(median(declaring))},
                            {"a document by its _id, CPU µs", number_text(found_now), number_text(found_shared), number_text(found_saved)},
                            {"the same, while there are snapshots, CPU µs", number_text(found_later), "", ""},
                            {"a scan, CPU ms", number_text(scanned_now), number_text(scanned_shared), number_text(scanned_saved)},
                            {"bytes of files a saved change", "", "", number_text(bytes)}}});
  figure.notes.push_back("shared: not written since the snapshot; saved: written since, many times over; files after a checkpoint, less what is free in them");
  report.figures.push_back(std::move(figure));
  report.goals.push_back({"CPU an update, none declared", "% more", 100 * undeclared.added, 1, true,
                          fmt::format("the past attached and not, on one collection in turns; to ask for the newest snapshot takes {} ns", number_text(undeclared.asking_ns))});
  report.goals.push_back({"CPU an update, a snapshot before each transaction of 1,000", "×", median(saving) / median(plain), 1.13, true, "against none declared, beside it; every update is the first since the snapshot"});
  report.goals.push_back({"as-of point read, still shared", "×", found_shared / found_now, 1.05, true, "against a current one"});
  report.goals.push_back({"as-of point read, saved", "×", found_saved / found_later, 1.5, true, "against a current one"});
  report.goals.push_back({"as-of scan", "×", std::max(scanned_shared, scanned_saved) / scanned_now, 2, true, "against a current one, shared or saved"});
  report.goals.push_back({"bytes of a saved one-field change of 1 KB", "B", bytes, 200, true, "files of the past and of kept contents"});
}

}  // namespace bench::past
