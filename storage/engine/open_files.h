// WiredTiger keeps the files of tables open that nobody uses for ten minutes, because opening one again takes time. When half of
// the process's descriptors are used up by files, it closes what is idle within seconds instead, so that their number limits how
// many tables are in use at once, and not how many there are.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "storage/engine/wt.h"

namespace storage {

// One thread uses an object.
class OpenFiles {
 public:
  // WiredTiger's settings to begin with. It never closes the last 2,000.
  static constexpr char settings[] = "file_manager=(close_idle_time=600,close_handle_minimum=2000,close_scan_interval=2)";

  // `descriptors` is how many the process may have open.
  OpenFiles(base::Clock& clock, wt::Connection& connection, uint64_t descriptors);

  // Counts the open files, once a second however often it is called, and changes the settings if need be. Returns whether a
  // checkpoint would let WiredTiger close more: it can't close what was written since the last one.
  bool look();

 private:
  base::Clock& clock_;
  wt::Connection& connection_;
  const int64_t many_, few_;
  int64_t next_us_ = 0;
  int64_t next_checkpoint_us_ = 0;
  bool closes_soon_ = false;
};

// Returns how many descriptors the process may have open.
uint64_t descriptors_max();

}  // namespace storage
