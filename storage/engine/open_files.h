// WiredTiger keeps the files of tables open that nobody uses for ten minutes, because opening one again takes time. When half of
// the process's descriptors are used up by files, it closes what is idle within seconds instead, so that their number limits how
// many tables are in use at once, and not how many there are.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "storage/engine/wt.h"

namespace storage {

// One thread uses an object.
class OpenFiles {
 public:
  // WiredTiger's settings to begin with. It never closes the last 2,000.
  static constexpr char settings[] = "file_manager=(close_idle_time=600,close_handle_minimum=2000,close_scan_interval=2)";

  // `descriptors` is how many the process may have open. `keep_few` is called with true while sessions should keep only a few
  // cursors, which keep files in use, and with false when that is over.
  OpenFiles(base::Clock& clock, wt::Connection& connection, uint64_t descriptors, std::function<void(bool)> keep_few);

  // Counts the open files, once a second however often it is called, and changes the settings if need be. Returns whether a
  // checkpoint would let WiredTiger close more: it can't close what was written since the last one. Throws what WiredTiger's
  // calls throw.
  bool look();

 private:
  void close_soon(bool soon, int64_t open);

  base::Clock& clock_;
  wt::Connection& connection_;
  const std::function<void(bool)> keep_few_;
  const int64_t many_, few_;
  int64_t next_us_ = 0;
  int64_t next_checkpoint_us_ = 0;
  int64_t checkpoint_every_us_;
  int64_t open_at_checkpoint_ = 0;
  bool closes_soon_ = false;
};

// Returns how many descriptors the process may have open. Below 4,000 it returns UINT64_MAX: the files of few tables stay open,
// and who has no descriptor left is refused.
uint64_t descriptors_to_watch();

}  // namespace storage
