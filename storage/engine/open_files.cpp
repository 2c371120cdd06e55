#include "storage/engine/open_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <limits>

#include "base/log.h"
#include "storage/engine/internals.h"

namespace storage {
namespace {

constexpr int64_t look_every_us = 1'000'000, checkpoint_every_us = 5'000'000;
constexpr char soon[] = "file_manager=(close_idle_time=1)", late[] = "file_manager=(close_idle_time=600)";

}  // namespace

uint64_t descriptors_max() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : 1024;
}

OpenFiles::OpenFiles(base::Clock& clock, wt::Connection& connection, uint64_t descriptors)
    : clock_(clock),
      connection_(connection),
      many_(static_cast<int64_t>(std::min<uint64_t>(descriptors, std::numeric_limits<int64_t>::max()) / 2)),
      few_(many_ / 2) {}

bool OpenFiles::look() {
  const int64_t now = clock_.monotonic_us();
  if (now < next_us_) return false;
  next_us_ = now + look_every_us;
  const int64_t open = engine_statistic(connection_, WT_STAT_CONN_FILE_OPEN);
  if (closes_soon_ ? open < few_ : open > many_) {
    closes_soon_ = !closes_soon_;
    wt::check(connection_.get()->reconfigure(connection_.get(), closes_soon_ ? soon : late),
              "setting when idle files are closed");
    base::log(base::Severity::info, base::LogComponent::storage, 7200306,
              closes_soon_ ? "Half of the descriptors are open files; idle ones are closed soon" : "Idle files stay open again",
              base::Attributes().add("openFiles", open).add("limit", 2 * many_));
  }
  if (open <= many_ || now < next_checkpoint_us_) return false;
  next_checkpoint_us_ = now + checkpoint_every_us;
  return true;
}

}  // namespace storage
