// The background of dedup: what was committed goes through these parts on one thread, the scheduler's.
//
//   push -> queue -> encoder of the partition -> write-back cache -> chain tables
//
// Each task holds what it alone needs; the parts above the tasks are shared. `start` lists the tasks in their order of urgency.
#pragma once

#include "dedup/writeback_cache.h"
#include "storage/background/catch_up_task.h"
#include "storage/background/cold_questions.h"
#include "storage/background/cold_task.h"
#include "storage/background/content_encoder.h"
#include "storage/background/dedup_queue.h"
#include "storage/background/dedup_settings.h"
#include "storage/background/dedup_state.h"
#include "storage/background/demoter.h"
#include "storage/background/encode_task.h"
#include "storage/background/flush_task.h"
#include "storage/background/live_options.h"
#include "storage/background/missed_updates.h"
#include "storage/background/options_task.h"
#include "storage/background/partitions.h"
#include "storage/background/promote_task.h"
#include "storage/background/published_figures.h"
#include "storage/background/recount_task.h"
#include "storage/background/save_task.h"
#include "storage/background/scheduler.h"
#include "storage/background/sources.h"
#include "storage/background/splice_task.h"
#include "storage/background/sweep_task.h"
#include "storage/background/tidy_task.h"
#include "storage/background/tracked_collections.h"
#include "storage/collections/catalog.h"

namespace storage {

// The functions are thread-safe; each part says itself which threads may use it. The parts are made in this order and destroyed
// in the opposite one.
struct DedupBackground {
  DedupBackground(Contents& contents, const Catalog& catalog, const DedupSettings& settings);
  ~DedupBackground() { stop(); }

  void start();
  void stop();

  // Clients call `wants` before a content is copied, and `push` after the commit. Neither waits for anybody.
  bool wants(const Collection& collection, size_t bytes) const;
  void push(const std::shared_ptr<Collection>& collection, DedupWork work);
  void dropped(CollectionId collection);

  // This function demotes contents that were not read lately, and then packs and compacts one collection's tables, on the
  // caller's thread.
  void tidy_now(Collection& collection, const std::function<void()>& interrupted);

  DedupFigures figures() const;
  QueueFigures queue_figures() const;

  Engine& engine;
  const Catalog& catalog;
  DedupState state;
  DedupQueue queue;
  LiveOptions options;
  TrackedCollections tracked;
  Partitions partitions;
  Sources sources;
  dedup::WritebackCache write_backs;
  PublishedFigures published;
  MissedUpdates missed;
  ContentEncoder encoder;
  Scheduler scheduler;
  ColdQuestions questions;

  OptionsTask take_options;
  FlushTask flush;
  TidyTask tidy;
  CatchUpTask catch_up;
  PromoteTask promote;
  SpliceTask splice;
  SaveTask save;
  RecountTask recount;
  SweepTask sweep;
  Demoter demoter;
  ColdTask cold;
  EncodeTask encode;
};

}  // namespace storage
