// The branch sweeper drops commits that their database's retention doesn't keep, and frees the records that they alone showed.
//
// It also drops collections that no branch, commit or snapshot shows any more. It leaves a database alone while commits arrive in
// it from elsewhere, since no ref names them yet.
//
// A pass visits all databases that have branches, every `branchSweepSleepSecs`, unless `branchSweepEnabled` is off.
// A transaction drops at most `branchSweepCommits` commits, so a pass blocks nobody, and can itself be stopped between two.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>

#include "server/core/passes.h"
#include "versions/database/databases.h"

namespace server::write {

// Drops commits until none is left to drop, at most `branchSweepCommits` in a transaction, and then collections that nobody has.
// It ends early when commits begin to arrive from elsewhere.
versions::Branches::Swept sweep(OperationContext& op, versions::BranchedDatabase& database);
// Frees the nodes of hash trees that dropped commits alone had. It reads all nodes.
void free_nodes(OperationContext& op, versions::BranchedDatabase& database);

class BranchSweeper {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit BranchSweeper(Services& services);

  // Starts a thread that runs the passes until this is destroyed.
  void start() { passes_.start(); }

 private:
  void run_pass();
  void sweep_one(versions::BranchedDatabase& database);
  // Takes at most a fiftieth of the time.
  void free_nodes_of(OperationContext& op, versions::BranchedDatabase& database);

  Services& services_;
  std::atomic<bool> enabled_{true};
  std::atomic<int64_t> sleep_seconds_{60};
  std::atomic<int64_t> commits_{16};
  struct Nodes {
    bool owed = false;          // commits were dropped since the nodes were last looked at
    int64_t not_before_us = 0;  // by the monotonic clock
  };
  std::map<std::string, Nodes> nodes_;  // by database
  Passes passes_;
};

}  // namespace server::write
