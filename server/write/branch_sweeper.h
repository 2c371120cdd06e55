// Drops commits that their database's retention lets go, and frees what they alone showed.
//
// A pass goes over all databases that have branches and a policy, every `branchSweepSleepSecs`, unless `branchSweepEnabled` is off.
// A transaction drops `branchSweepCommits` of them at most, so it stops nobody, and can itself be stopped between two.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "versions/database/databases.h"

namespace server {
class OperationContext;
struct Services;
}

namespace server::write {

inline constexpr size_t commits_a_sweep = 16;

// Until nothing is left to drop, `commits` at most in a transaction.
versions::Branches::Swept sweep(OperationContext& op, versions::BranchedDatabase& database, size_t commits);

class BranchSweeper {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit BranchSweeper(Services& services);
  ~BranchSweeper();  // interrupts a pass that runs
  BranchSweeper(const BranchSweeper&) = delete;
  BranchSweeper& operator=(const BranchSweeper&) = delete;

  // From here on a thread runs the passes.
  void start();

 private:
  void run();
  void run_pass();
  void sweep_one(versions::BranchedDatabase& database);

  Services& services_;
  std::atomic<bool> enabled_{true};
  std::atomic<int64_t> sleep_seconds_{60};
  std::atomic<int64_t> commits_{commits_a_sweep};
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  OperationContext* running_ = nullptr;
  std::thread thread_;
};

}  // namespace server::write
