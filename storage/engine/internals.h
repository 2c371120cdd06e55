// The parts of an open engine. For this folder alone.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "dedup/hop_base_cache.h"
#include "storage/collections/past_catalog.h"
#include "storage/contents/declared_snapshots.h"
#include "storage/engine/checkpointer.h"
#include "storage/engine/disk_space.h"
#include "storage/engine/engine.h"
#include "storage/engine/journal.h"
#include "storage/engine/read_limits.h"
#include "storage/engine/session.h"
#include "storage/engine/stable_commits.h"
#include "storage/engine/stamps.h"
#include "storage/engine/tables.h"
#include "storage/engine/wt.h"
#include "storage/format/page_compressor.h"

namespace storage {

class DedupService;
class PreStates;

// In the order of their making; they go in the opposite one.
struct Engine::Internals {
  Internals(Engine& engine, const EngineOptions& options);
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
  ReadLimits read_limits;
  dedup::HopBaseCache hop_bases{dedup::Options{}.hop_base_cache_bytes};
  PageCompressors page_compressors;
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
  DeclaredSnapshots snapshots;
  std::atomic<PreStates*> pre_states{nullptr};
  std::unique_ptr<PastCatalog> past_catalog;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<DedupService> dedup;
};

// statistics.cpp: every figure WiredTiger keeps, grouped as serverStatus shows them.
void append_engine_statistics(wt::Connection& connection, bson::Builder& out);

// catalog: reads what is stored, removes what a crash left half done.
std::unique_ptr<Catalog> load_catalog(Engine& engine);

}  // namespace storage
