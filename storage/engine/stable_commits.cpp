#include "storage/engine/stable_commits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/error.h"
#include "base/spin_lock.h"

namespace storage {
namespace {

void set_timestamps(wt::Connection& connection, uint64_t oldest, uint64_t stable) {
  char text[80];
  *fmt::format_to_n(text, sizeof text - 1, "oldest_timestamp={:x},stable_timestamp={:x}", oldest, stable).out = '\0';
  wt::check(connection.get()->set_timestamp(connection.get(), text), "moving the stable timestamp");
}

uint64_t recovered(wt::Connection& connection) {
  char hex[2 * sizeof(uint64_t) + 1] = "";
  if (connection.get()->query_timestamp(connection.get(), hex, "get=recovery") != 0) return 0;
  uint64_t commit = 0;
  std::from_chars(hex, hex + std::strlen(hex), commit, 16);
  return commit;
}

}  // namespace

// Without a stable timestamp a checkpoint would hold everything, so there is one from the start.
StableCommits::StableCommits(wt::Connection& connection)
    : connection_(connection), last_(std::max<uint64_t>(1, recovered(connection))), stable_(last_) {
  pass_on_stable();
}

void StableCommits::pass_on_stable() {
  set_timestamps(connection_, kept_.empty() ? stable_ : std::min(stable_, *kept_.begin()), stable_);
}

uint64_t StableCommits::begin(Stamp first, Stamp newest) {
  const base::SpinLock lock(mutex_);
  unstable_.push_back({++last_, first, newest, false});
  return last_;
}

void StableCommits::over(uint64_t commit, bool made) {
  const base::SpinLock lock(mutex_);
  const auto at = std::lower_bound(unstable_.begin(), unstable_.end(), commit,
                                   [](const Unstable& one, uint64_t number) { return one.commit < number; });
  base::check(at != unstable_.end() && at->commit == commit, "a commit that was begun is over once");
  if (!made) {
    unstable_.erase(at);
    return;
  }
  at->made = true;
  // Consecutive background commits become stable together.
  const auto is_work = [](const Unstable& one) { return one.made && one.newest == 0; };
  if (is_work(*at) && at != unstable_.begin() && is_work(*std::prev(at))) unstable_.erase(std::prev(at));
}

void StableCommits::set_majority_committed(Stamp upto) {
  const base::SpinLock lock(mutex_);
  majority_committed_ = std::max(majority_committed_, upto);
}

StableCommits::Point StableCommits::advance() {
  const base::SpinLock lock(mutex_);
  uint64_t stable = stable_;
  while (!unstable_.empty() && unstable_.front().made && unstable_.front().newest <= majority_committed_) {
    stable = unstable_.front().commit;
    unstable_.pop_front();
  }
  if (stable != stable_) {
    stable_ = stable;
    pass_on_stable();
  }
  return point();
}

StableCommits::Point StableCommits::point() const {
  Point point{stable_, majority_committed_};
  for (const Unstable& waits : unstable_) {
    if (waits.newest != 0) point.stamp = std::min(point.stamp, waits.first - 1);
  }
  return point;
}

StableCommits::Point StableCommits::keep() {
  const base::SpinLock lock(mutex_);
  const Point kept = point();
  kept_.insert(kept.commit);
  return kept;
}

void StableCommits::let_go(uint64_t commit) {
  const base::SpinLock lock(mutex_);
  kept_.erase(kept_.find(commit));
  pass_on_stable();
}

uint64_t StableCommits::last() const {
  const base::SpinLock lock(mutex_);
  return last_;
}

}  // namespace storage
