// The parts of an open engine. For storage/ alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "storage/engine/checkpointer.h"
#include "storage/engine/disk_space.h"
#include "storage/engine/engine.h"
#include "storage/engine/journal.h"
#include "storage/engine/session.h"
#include "storage/engine/stable_commits.h"
#include "storage/engine/stamps.h"
#include "storage/engine/tables.h"
#include "storage/engine/wt.h"

namespace storage {

// In the order of their making; they go in the opposite one.
struct Engine::Internals {
  Internals(Engine& engine, const EngineOptions& options, const std::string& extension);
  ~Internals();

  // On a member of a replica set: what a checkpoint is taken between.
  void around_checkpoint(const std::function<void()>& take);
  void load_log_state();

  // Called with WT_ROLLBACK in hand: throws TransactionTooLargeForCache where running it again would
  // end the same way; else returns.
  void conflict(const Transaction::Session& session) const;

  Engine& engine;
  const EngineOptions options;
  DiskSpace space;
  wt::Connection connection;
  StampSource stamps;
  SessionPool sessions;
  std::timed_mutex commit_mutex;          // held for a commit alone; not on a member of a replica set
  std::unique_ptr<StableCommits> stable;  // on a member of a replica set
  std::function<void()> settled;          // set once, before anything is stamped
  Tables tables;
  Table log_state;
  std::mutex checkpoint_mutex;  // one at a time
  std::atomic<Stamp> checkpointed_stamp{0};
  Stamp recovered_stamp = 0;
  Journal journal;
  Checkpointer checkpointer;
  Table counts;
};

// statistics.cpp: every figure WiredTiger keeps, grouped as serverStatus shows them.
void append_engine_statistics(wt::Connection& connection, bson::Builder& out);

}  // namespace storage
