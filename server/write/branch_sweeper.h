// Drops commits that their database's retention lets go, and frees what they alone showed.
//
// A pass goes over all databases that have branches and a policy, every `branchSweepSleepSecs`, unless `branchSweepEnabled` is
// off. A transaction drops `branchSweepCommits` of them at most, so a pass stops nobody, and can itself be stopped between two.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "server/core/passes.h"
#include "versions/database/databases.h"

namespace server::write {

// Until nothing is left to drop, `branchSweepCommits` at most in a transaction.
versions::Branches::Swept sweep(OperationContext& op, versions::BranchedDatabase& database);
// Until there are no nodes of trees left that only dropped commits had. Reads all that there are.
void free_nodes(OperationContext& op, versions::BranchedDatabase& database);

class BranchSweeper {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit BranchSweeper(Services& services);

  // From here on a thread runs the passes, until this is destroyed.
  void start() { passes_.start(); }

 private:
  void run_pass();
  void sweep_one(versions::BranchedDatabase& database);
  // Takes a fiftieth of the time at most.
  void free_nodes_of(OperationContext& op, versions::BranchedDatabase& database);

  Services& services_;
  std::atomic<bool> enabled_{true};
  std::atomic<int64_t> sleep_seconds_{60};
  std::atomic<int64_t> commits_{16};
  struct Nodes {
    bool owed = false;          // commits were dropped since they were last looked at
    int64_t not_before_us = 0;  // by the monotonic clock
  };
  std::map<std::string, Nodes> nodes_;  // by database
  Passes passes_;
};

}  // namespace server::write
