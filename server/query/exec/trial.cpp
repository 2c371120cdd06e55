#include "server/query/exec/trial.h"

#include <algorithm>

#include "base/error.h"

namespace server::query::exec {

namespace {

double score_of(const Stage& stages) {
  const StageStats& stats = stages.stats();
  if (stats.works == 0) return 0;
  const double hair = std::min(1.0 / (10.0 * static_cast<double>(stats.works)), 1e-4);
  return static_cast<double>(stats.advanced) / static_cast<double>(stats.works) + (stats.ended ? 1 : 0) +
         (stages.has("SORT") ? 0 : hair) + (stages.has("FETCH") ? 0 : hair);
}

// Runs one round: a unit of work for each plan. Returns true if the race is over.
bool round(std::vector<Trial>& trials, storage::Transaction& transaction, int64_t results_max) {
  bool over = false;
  for (Trial& trial : trials) {
    if (trial.failed) continue;
    try {
      const Step step = trial.stages->work(transaction);
      over = over || step == Step::end || trial.stages->stats().advanced >= results_max;
    } catch (const base::OperationError& error) {
      // Other plans may need no such sort, or no index that was dropped. Any other error isn't the plan's own, and choosing
      // another plan must not hide it.
      if (error.code() != base::ErrorCode::query_exceeded_memory_limit_no_disk_use_allowed &&
          error.code() != base::ErrorCode::query_plan_killed)
        throw;
      trial.failed = true;
      if (std::all_of(trials.begin(), trials.end(), [](const Trial& one) { return one.failed; })) throw;
    }
  }
  return over;
}

}  // namespace

size_t race(std::vector<Trial>& trials, storage::Transaction& transaction, const RaceLimits& limits,
            const std::function<void()>& check_interrupt) {
  for (int64_t works = 0; works < limits.works_max; ++works) {
    if (works % 128 == 0) check_interrupt();
    if (round(trials, transaction, limits.results_max)) break;
  }
  for (Trial& trial : trials) trial.score = trial.failed ? -1 : score_of(*trial.stages);
  const auto best =
      std::max_element(trials.begin(), trials.end(), [](const Trial& a, const Trial& b) { return a.score < b.score; });
  return static_cast<size_t>(best - trials.begin());
}

}  // namespace server::query::exec
