// This header lists the parts of an open engine. Only storage/ uses it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/mutex.h"
#include "storage/engine/checkpointer.h"
#include "storage/engine/disk_space.h"
#include "storage/engine/drafts.h"
#include "storage/engine/encryption.h"
#include "storage/engine/engine.h"
#include "storage/engine/journal.h"
#include "storage/engine/open_files.h"
#include "storage/engine/reclaimer.h"
#include "storage/engine/session.h"
#include "storage/engine/stable_commits.h"
#include "storage/engine/stamps.h"
#include "storage/engine/tables.h"
#include "storage/engine/unapplied_rows.h"
#include "storage/engine/wt.h"

namespace storage {

// The parts are made in this order and destroyed in the opposite one.
struct Engine::Internals {
  Internals(Engine& engine, const EngineOptions& options, const std::string& extension);
  ~Internals();

  // Takes a checkpoint with `take`, and does before and after it what a member of a replica set needs.
  void around_checkpoint(const std::function<void()>& take);
  void load_log_state();
  // Applies what an earlier start could not, where it can be applied by now, and logs what is left.
  void apply_unapplied();
  // Throws OutOfDiskSpace if there is no room for such writes on the disk, and none after a checkpoint either. `bytes` is the
  // size of the document that is written. The caller may be inside a transaction, but must not hold the lock of
  // Checkpointer::between_checkpoints.
  void require_room(DiskUse use, uint64_t bytes = 0);

  // This function is called after WiredTiger returned WT_ROLLBACK. It throws TransactionTooLargeForCache if the transaction would
  // end the same way when it is run again; otherwise it returns.
  void conflict(const Transaction::Session& session) const;

  Engine& engine;
  const EngineOptions options;
  const std::shared_ptr<const Encryption> encryption;  // nullptr: there is none
  DiskSpace space;
  UnappliedRows unapplied;
  wt::Connection connection;
  StampSource stamps;
  Drafts drafts;
  SessionPool sessions;
  // It is held only during a commit; a member of a replica set doesn't use it. It is a standard one, since a commit waits for it
  // for a limited time and goes on without it: it guards no field, but has commits take turns.
  std::timed_mutex commit_mutex;
  std::unique_ptr<StableCommits> stable;   // it exists on a member of a replica set
  std::function<void()> transaction_over;  // it is set once, before the first timestamp is taken
  Tables tables;
  Table log_state;
  base::Mutex checkpoint_mutex;  // one checkpoint is taken at a time
  std::atomic<Stamp> checkpointed_stamp{0};
  Stamp recovered_stamp = 0;
  Journal journal;
  OpenFiles files;
  Checkpointer checkpointer;
  Table counts;
  Reclaimer reclaimer;
};

// Returns one of the figures that WiredTiger keeps.
int64_t engine_statistic(wt::Connection& connection, int which);  // `which`: WT_STAT_CONN_...
// Appends every figure that WiredTiger keeps, grouped as serverStatus shows them (statistics.cpp).
void append_engine_statistics(wt::Connection& connection, bson::Builder& out);

}  // namespace storage
