#include "storage/stable_commits.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace storage {
namespace {

void set_timestamps(wt::Connection& connection, uint64_t oldest, uint64_t stable) {
  char text[80] = "oldest_timestamp=";
  char* at = std::to_chars(text + std::strlen(text), text + sizeof text, oldest, 16).ptr;
  constexpr std::string_view second = ",stable_timestamp=";
  at = std::copy(second.begin(), second.end(), at);
  *std::to_chars(at, text + sizeof text - 1, stable, 16).ptr = '\0';
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

// Without a stable timestamp a checkpoint would hold everything: there is one from the start.
StableCommits::StableCommits(wt::Connection& connection)
    : connection_(connection), last_(std::max<uint64_t>(1, recovered(connection))), stable_(last_) {
  tell_engine();
}

void StableCommits::tell_engine() {
  set_timestamps(connection_, kept_.empty() ? stable_ : std::min(stable_, *kept_.begin()), stable_);
}

void StableCommits::let_go(uint64_t commit) {
  kept_.erase(kept_.find(commit));
  tell_engine();
}

void StableCommits::committed(Stamp newest) {
  ++last_;
  // Background work in a row becomes stable together.
  if (newest == 0 && !unstable_.empty() && unstable_.back().newest == 0) unstable_.back().commit = last_;
  else unstable_.push_back({last_, newest});
}

void StableCommits::advance() {
  uint64_t stable = stable_;
  while (!unstable_.empty() && unstable_.front().newest <= agreed_) {
    stable = unstable_.front().commit;
    unstable_.pop_front();
  }
  if (stable == stable_) return;
  stable_ = stable;
  tell_engine();
}

StableCommits::Point StableCommits::stable() const {
  Point point{stable_, agreed_};
  for (const Unstable& waits : unstable_) {
    if (waits.newest != 0) point.stamp = std::min(point.stamp, waits.newest - 1);
  }
  return point;
}

}  // namespace storage
