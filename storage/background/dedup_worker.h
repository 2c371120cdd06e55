// The thread that encodes what was committed, and tidies up when nothing is to
// be encoded.
//
//   queue --> encoder of the database --> write-back cache --> chain tables
//
// In order of urgency: encode what is queued; write back, at once while nothing
// else waits, else when the cache is half full; catch up with collections whose
// queue overflowed, or that a restart left behind; splice dead contents out;
// save where it stands; count again what a crash left uncounted; look for dead
// contents that no read meets; demote heads that nobody reads; pack and compact
// tables. While clients write and the CPU is wanted it keeps to a small part of
// it (background_pace.h), and what doesn't get done is put off. The longer there
// was nothing to do, the longer it sleeps; a client's write wakes it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>

#include "dedup/writeback_cache.h"
#include "storage/background/background_pace.h"
#include "storage/background/cold_pass.h"
#include "storage/background/dead_sweep.h"
#include "storage/background/dedup_queue.h"
#include "storage/background/dedup_settings.h"
#include "storage/background/dedup_state.h"
#include "storage/background/log_estimate.h"
#include "storage/background/write_back_flusher.h"
#include "storage/background/write_burst.h"
#include "storage/collections/catalog.h"
#include "storage/engine/engine.h"

namespace storage {

struct DedupFigures {
  struct Database {  // of all its profiles together
    dedup::EncoderStats encoder;
    LogFigures log;
    int64_t rebuild_ms = 0;
  };
  std::map<std::string, Database> databases;
  WriteBackFigures write_back;
  size_t write_back_records = 0, write_back_bytes = 0, write_back_in_hand = 0;
  uint64_t write_back_discarded = 0, write_back_discarded_bytes = 0;
  uint64_t spliced = 0;
  uint64_t swept_rows = 0;     // looked at for dead contents
  uint64_t caught_up = 0;      // records that were read back to be encoded
  uint64_t successors = 0;     // updates whose old content stays, as a delta of the new one
  uint64_t cut = 0;            // write-backs left out so that reads stay short
  uint64_t rested_micros = 0;  // while others wanted the CPU
  uint64_t packed_records = 0;
  uint64_t compactions = 0;
  uint64_t cpu_micros = 0;  // of the worker's thread
};

// Thread-safe.
class DedupWorker {
 public:
  DedupWorker(Contents& contents, const Catalog& catalog, const DedupSettings& settings);
  ~DedupWorker();

  void start();
  void stop();

  // What clients pay: `wants` before a content is copied, and `push` after the commit. Neither waits for anybody.
  bool wants(const Collection& collection, size_t bytes) const;
  void push(const std::shared_ptr<Collection>& collection, DedupWork work);
  void dropped(CollectionId collection);

  // Until nothing is left to encode and to write back; `tidy`: nor to pack and compact.
  void drain(bool tidy);

  // Demotes what was not read lately, then packs and compacts one collection's tables, on the caller's thread.
  void tidy(Collection& collection, const std::function<void()>& interrupted);

  // While it is held nothing is changed.
  std::unique_lock<std::mutex> hold();
  bool counted(CollectionId id) const;  // while held

  void set_enabled(bool enabled);
  bool enabled() const { return enabled_; }
  void set_queue_bytes(size_t bytes);
  size_t queue_bytes() const;

  // As the server's profile has it, or as it was set since. A change takes effect with the next batch of contents, in
  // every database; throws BadValue for options that don't `validate`.
  dedup::Options options() const;
  void set_options(const dedup::Options& options);

  dedup::Sketcher sketcher(const Collection& collection) const;

  DedupFigures figures() const;
  struct QueueFigures {
    size_t records = 0, bytes = 0;
    uint64_t dropped = 0, refused = 0;
    size_t behind = 0;  // collections that are caught up with by reading
  };
  QueueFigures queue_figures() const;

 private:
  // A collection that has something to encode.
  struct Tracked {
    std::shared_ptr<Collection> collection;
    RecordId encoded = 0;  // every record up to here was looked at
    RecordId saved = -1;   // `encoded` as it is stored
    Stamp saved_missed = RecordStore::State::none_missed;
    Stamp seen = 0;  // every update up to here was looked at, but those that are known as missed
    StoreCounts saved_counts;
    bool behind() const;  // read through instead of queued
  };
  // One database under one profile: its index, its metadata, its figures. The worker's own.
  struct Partition {
    std::string database, profile;
    std::unique_ptr<MetadataPages> pages;
    std::unique_ptr<dedup::Encoder> encoder;
    LogEstimate log;
    int64_t rebuild_ms = 0;
    size_t share = 1;  // of the caches: the n-th database gets an n-th
    bool dirty = false;
  };
  class Sources;

  void run();
  bool step();  // false: nothing to do
  void nap(std::unique_lock<std::mutex>& lock, std::chrono::microseconds least);
  void wake();  // by who has pushed something; takes no lock
  void load();
  Tracked& track(const std::shared_ptr<Collection>& collection);  // under mutex_
  std::shared_ptr<Collection> collection_of(CollectionId id) const;
  std::shared_ptr<ChainStore> store_of(CollectionId id);  // keeps the collection
  // Those that are there and of which `wanted(collection)` is true. It must not ask for mutex_.
  template <class Wanted>
  std::vector<std::shared_ptr<Collection>> collections_where(Wanted wanted) const;

  std::string profile_of(const Collection& collection) const;
  std::string partition_name(const Collection& collection) const;
  dedup::Options options_of(const std::string& profile, const dedup::Options& server) const;
  dedup::Options options_of_partition(const Partition& part) const;
  void take_options();
  Partition& partition(const Collection& collection);
  bool wanted(const Collection& collection) const;
  void encode(const DedupWork& work, Sources& sources);
  // `previous`: that it took the place of; 0: none, or nobody knows. `is_base`: that one may still be there, for others.
  void encode_content(Collection& collection, const dedup::ContentId& id, Stamp previous, bool is_base, BytesView content,
                      Sources& sources);
  bool encode_queued();
  bool flush(bool everything);
  bool catch_up();
  bool splice_some();
  bool recount_some();
  bool sweep(bool now);
  bool cold_some(bool asked_only);
  bool concerned(Collection& collection);
  bool demotes(const Collection& collection) const;
  bool begin_pass(Collection& collection, uint64_t asked);
  bool cold_slice(Collection& collection);
  void demote(Collection& collection, const ColdPass::Found& head, Sources& sources);
  bool promote_some();
  uint64_t changes_of(const Collection& collection) const;
  void demote_now(Collection& collection, const std::function<void()>& interrupted);
  Stamp missed_from(const Collection& collection) const;
  void leave_queued();
  void answer(CollectionId collection, uint64_t number);
  void rest();
  bool burst_lasts();
  bool save(bool everything);
  bool tidy(bool now);
  void forget(CollectionId collection);
  std::optional<dedup::Placement> successor_placement(const dedup::ContentId& id);
  void publish(bool with_open_batches);

  Contents& contents_;
  Engine& engine_;
  const Catalog& catalog_;
  const std::string server_profile_;
  DedupState state_;
  Table metadata_;
  std::atomic<bool> enabled_;
  std::atomic<int64_t> last_client_us_{0};
  DedupQueue queue_;
  std::atomic<size_t> in_hand_{0};  // taken from the queue, not yet done
  std::atomic<bool> napping_{false};

  mutable std::mutex mutex_;  // guards what follows up to the worker's own
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::unordered_map<CollectionId, Tracked> tracked_;
  DedupFigures figures_;
  dedup::Options options_;
  bool options_changed_ = false;  // since the worker took them
  bool stopping_ = false;
  int draining_ = 0;
  int tidying_ = 0;
  uint64_t questions_ = 0;                                       // passes for cold heads that somebody waited for
  std::unordered_map<CollectionId, uint64_t> asked_, answered_;  // the latest question of each
  uint64_t idle_rounds_ = 0;                                     // times the worker found nothing at all to do
  std::thread thread_;
  std::mutex packing_;           // one at a time
  std::mutex working_;           // held while it changes anything
  std::atomic<int> holders_{0};  // that wait for it

  std::map<std::string, std::unique_ptr<Partition>, std::less<>> partitions_;
  std::unordered_map<CollectionId, std::shared_ptr<Collection>> in_use_;
  dedup::WritebackCache write_backs_;
  dedup::Options options_in_force_;
  DedupFigures own_;
  int64_t worked_us_ = 0;  // when there was something to do
  int64_t saved_us_ = 0;
  int64_t tidied_us_ = 0;
  bool tidy_done_ = false;
  BackgroundPace pace_;
  WriteBurst burst_;
  struct Sweep {
    DeadSweep dead;
    int64_t begun_us = 0;
    int64_t dead_at_end = -1;  // that were left after the last pass
    bool spliced = false;      // in this one
    bool on = false;
  };
  std::unordered_map<CollectionId, Sweep> sweeps_;
  struct Cold {
    ColdPass pass;
    bool on = false;
    uint64_t asked = 0;  // the question that it answers
    bool cold = false;   // demotes
    Stamp missed_from = RecordStore::State::none_missed;
    int64_t begun_us = 0, ended_us = 0;
    // At the end of the last pass: what was too warm, and what there was to compare with.
    uint64_t warm = 0, changes = 0;
  };
  std::unordered_map<CollectionId, Cold> colds_;
  std::vector<CollectionId> to_recount_;  // their counts are from before a crash
};

template <class Wanted>
std::vector<std::shared_ptr<Collection>> DedupWorker::collections_where(Wanted wanted) const {
  std::vector<std::shared_ptr<Collection>> collections;
  std::lock_guard lock(mutex_);
  for (const auto& [id, tracked] : tracked_)
    if (!tracked.collection->dropped() && wanted(*tracked.collection)) collections.push_back(tracked.collection);
  return collections;
}

// Adds the counts of one encoder to a sum. The sum is enabled only when every encoder is; its governor state is then the disabled
// one's.
void add(dedup::EncoderStats& sum, const dedup::EncoderStats& one);

}  // namespace storage
