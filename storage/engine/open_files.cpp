#include "storage/engine/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "storage/engine/internals.h"

namespace storage {
namespace {

constexpr int64_t look_every_us = 1'000'000, checkpoint_every_min_us = 5'000'000, checkpoint_every_max_us = 60'000'000;
constexpr int64_t never_closed = 2'000;
constexpr uint64_t descriptors_min = 2 * never_closed;

}  // namespace

uint64_t descriptors_to_watch() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= descriptors_min ? limit.rlim_cur : UINT64_MAX;
}

OpenFiles::OpenFiles(base::Clock& clock, wt::Connection& connection, uint64_t descriptors, std::function<void(bool)> keep_few)
    : clock_(clock),
      connection_(connection),
      keep_few_(std::move(keep_few)),
      many_(static_cast<int64_t>(std::min<uint64_t>(descriptors, INT64_MAX) / 2)),
      few_(many_ / 2),
      checkpoint_every_us_(checkpoint_every_min_us) {}

bool OpenFiles::look() {
  const int64_t now = clock_.monotonic_us();
  if (now < next_us_) return false;
  next_us_ = now + look_every_us;
  const int64_t open = engine_statistic(connection_, WT_STAT_CONN_FILE_OPEN);
  if (closes_soon_ ? open < few_ : open > many_) close_soon(!closes_soon_, open);
  if (open <= many_ || now < next_checkpoint_us_) return false;
  // If the last checkpoint brought little, the files are in use.
  checkpoint_every_us_ = open < open_at_checkpoint_ || open_at_checkpoint_ == 0
                             ? checkpoint_every_min_us
                             : std::min(2 * checkpoint_every_us_, checkpoint_every_max_us);
  open_at_checkpoint_ = open;
  next_checkpoint_us_ = now + checkpoint_every_us_;
  keep_few_(true);
  return true;
}

void OpenFiles::close_soon(bool soon, int64_t open) {
  const std::string settings = "file_manager=(close_idle_time=" + std::string(soon ? "1" : "600") +
                               ",close_handle_minimum=" + std::to_string(soon ? std::min(never_closed, few_ / 2) : never_closed) +
                               ")";
  wt::check(connection_.get()->reconfigure(connection_.get(), settings.c_str()), "setting when idle files are closed");
  closes_soon_ = soon;
  open_at_checkpoint_ = 0;
  keep_few_(soon);
  base::log(base::Severity::info, base::LogComponent::storage, 7200306,
            soon ? "Half of the descriptors are open files; idle ones are closed soon" : "Idle files stay open again",
            base::Attributes().add("openFiles", open).add("limit", 2 * many_));
}

}  // namespace storage
