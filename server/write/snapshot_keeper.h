// The snapshot keeper declares snapshots by schedule, drops old ones, and frees what dropped ones alone showed.
//
// Parameters: `snapshotEvery` ("15m", "1h", "1d"; empty: never) and `snapshotEveryTransactions` (0: never) declare unnamed
// snapshots; `snapshotKeepNewest` (0: all) and `snapshotKeepYoungerThanSecs` (0: all) keep unnamed ones, for either reason. Named
// ones stay until somebody drops them. In a replica set the primary does that. The keeper looks ten times a second whether a
// snapshot is due.
#pragma once

#include <atomic>

#include "base/repeated_failures.h"
#include "server/core/passes.h"
#include "versions/past/past.h"

namespace server::write {

class SnapshotKeeper {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine and its past.
  explicit SnapshotKeeper(Services& services);

  // Starts a thread that runs the passes until this is destroyed.
  void start() { passes_.start(); }

 private:
  void run_pass();
  bool due();
  void declare_and_retain(OperationContext& op);
  void retain();

  Services& services_;
  std::atomic<int64_t> every_ms_{0};
  std::atomic<int64_t> every_transactions_{0};
  std::atomic<int64_t> keep_newest_{0};
  std::atomic<int64_t> keep_seconds_{0};
  base::RepeatedFailures failures_;  // over a damaged table each pass fails
  uint64_t transactions_then_ = 0;   // the count when it last declared a snapshot
  Passes passes_;
};

// Returns "90s", "15m", "1h", "1d" in milliseconds; "" is 0. Throws BadValue.
int64_t interval_ms(std::string_view text);

}  // namespace server::write
