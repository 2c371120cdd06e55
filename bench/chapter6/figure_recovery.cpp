// Figure 6.9 shows an index that is lost with the primary, or comes back after a restart.
#include <fmt/core.h>

#include <deque>

#include "bench/chapter6/figures.h"
#include "bench/chapter6/replay.h"

namespace bench::chapter6 {
namespace {

enum class Event { none, failure, restart };

struct Run {
  std::vector<std::pair<double, double>> ratios;  // records, ratio of the log over the last 2000
  uint64_t forward_after = 0;                     // of the first 2000 records after the event
  double rebuild_seconds = 0;
  uint64_t rebuilt = 0;
};

Run measure(const Workload& workload, const Options& options, Event event, size_t at) {
  constexpr size_t window_max = 2000;
  const size_t window = std::min(window_max, workload.records.size() / 8 + 1), step = std::max<size_t>(1, window / 8);
  Replay replay(options);
  Run run;
  std::deque<std::pair<uint64_t, uint64_t>> last;  // whole, forward
  uint64_t whole = 0, forward = 0;
  for (size_t i = 0; i < workload.records.size(); ++i) {
    if (i == at && event == Event::failure) replay.lose_index();
    if (i == at && event == Event::restart) {
      run.rebuild_seconds = replay.restart();
      run.rebuilt = replay.stats().live_entries;
    }
    const uint64_t before = replay.forward_bytes();
    replay.step(workload.records[i]);
    last.emplace_back(workload.records[i].document.size(), replay.forward_bytes() - before);
    whole += last.back().first, forward += last.back().second;
    if (i >= at && i < at + window_max) run.forward_after += last.back().second;
    if (last.size() > window) {
      whole -= last.front().first, forward -= last.front().second;
      last.pop_front();
    }
    if (i % step == 0 && last.size() == window && forward > 0)
      run.ratios.emplace_back(static_cast<double>(i), static_cast<double>(whole) / static_cast<double>(forward));
  }
  return run;
}

// Returns how deep `run` falls below `normal` from `at` on, as a part of it, and where it is back within 5 %.
struct Dip {
  double deepest = 0;
  double back = 0;  // records after the event
};
Dip dip(const Run& normal, const Run& run, size_t at) {
  Dip dip;
  for (size_t i = 0; i < normal.ratios.size() && i < run.ratios.size(); ++i) {
    if (run.ratios[i].first < static_cast<double>(at)) continue;
    const double below = 1 - run.ratios[i].second / normal.ratios[i].second;
    dip.deepest = std::max(dip.deepest, below);
    if (below > 0.05) dip.back = run.ratios[i].first - static_cast<double>(at);
  }
  return dip;
}

}  // namespace

void failure_recovery(Suite& suite) {
  const Workload& workload = suite.by_time("wiki");
  const size_t at = workload.records.size() / 2;
  Plot plot{"Compression of the last 2000 records in the log", "records", "ratio", false, {}};
  const Run normal = measure(workload, thesis(), Event::none, at), failed = measure(workload, thesis(), Event::failure, at),
            restarted = measure(workload, thesis(), Event::restart, at);
  plot.series = {{"normal", normal.ratios}, {"index lost", failed.ratios}, {"restarted", restarted.ratios}};
  Figure& figure = suite.figure("6.9", "Failure recovery");
  figure.plots.push_back(std::move(plot));
  const Dip lost = dip(normal, failed, at), came_back = dip(normal, restarted, at);
  figure.notes.push_back(
      fmt::format("At record {}: with the index lost the ratio falls by {:.0f} % and is back within 5 % after {:.0f} records; "
                  "restarted it falls by {:.1f} %. "
                  "Filling the index again took {:.3f} CPU seconds for {} records.",
                  at, lost.deepest * 100, lost.back, came_back.deepest * 100, restarted.rebuild_seconds, restarted.rebuilt));
  suite.claim({"6.9", "With the index lost the ratio falls significantly, and is back after about 50,000 records",
               fmt::format("falls by {:.0f} %, back within 5 % after {:.0f} records", lost.deepest * 100, lost.back),
               lost.deepest > 0.1 && lost.back <= 50'000});
  const double seconds_200k =
      restarted.rebuilt ? restarted.rebuild_seconds * 200'000 / static_cast<double>(restarted.rebuilt) : 0;
  suite.claim({"6.9",
               "After a restart the index is back in less than three seconds for 200,000 records, as if nothing had happened",
               fmt::format("{:.2f} s for 200,000 records, at most {:.1f} % below", seconds_200k, came_back.deepest * 100),
               seconds_200k < 3 && came_back.deepest <= 0.05});
}

void restart_goals(Suite& suite) {
  const Workload& workload = suite.by_time("wiki");
  const size_t at = workload.records.size() / 2;
  const Options options = Options::of(Profile::balanced);
  const Run normal = measure(workload, options, Event::none, at), restarted = measure(workload, options, Event::restart, at);
  const double lost =
      normal.forward_after ? 1 - static_cast<double>(normal.forward_after) / static_cast<double>(restarted.forward_after) : 0;
  const double seconds_200k =
      restarted.rebuilt ? restarted.rebuild_seconds * 200'000 / static_cast<double>(restarted.rebuilt) : 0;
  suite.goal({"restart: index back, seconds for 200,000 records", "s", seconds_200k, 3, true,
              fmt::format("{} records in {:.3f} CPU s", restarted.rebuilt, restarted.rebuild_seconds)});
  suite.goal({"restart: dip of the ratio", "%", lost * 100, 1, true,
              "log of the wiki: the first 2000 records after a restart half-way, against the same without"});
}

}  // namespace bench::chapter6
