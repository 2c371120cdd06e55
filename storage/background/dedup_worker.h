// The dedup worker is the thread that encodes what was committed, and that tidies up when nothing waits to be encoded.
//
//   queue --> encoder of the database --> write-back cache --> chain tables
//
// The worker has these duties, the most urgent first. It encodes what is queued. It writes deltas back: at once while nothing
// else waits, and otherwise when the cache is half full. It catches up with collections whose queue overflowed, or that weren't
// encoded before a restart. It splices dead contents out. It saves its place. It counts again what a crash left uncounted. It
// looks for dead contents that no read meets. It demotes heads that nobody reads. It packs and compacts tables.
//
// While clients write and somebody else wants the CPU, the worker uses only a small part of it (background_pace.h) and puts the
// rest of the work off. The longer there was nothing to do, the longer the worker sleeps; a client's write wakes it.
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
  struct Database {  // These figures sum up all profiles of the database.
    dedup::EncoderStats encoder;
    LogFigures log;
    int64_t rebuild_ms = 0;
  };
  std::map<std::string, Database> databases;
  WriteBackFigures write_back;
  size_t write_back_records = 0, write_back_bytes = 0, write_back_in_hand = 0;
  uint64_t write_back_discarded = 0, write_back_discarded_bytes = 0;
  uint64_t spliced = 0;
  uint64_t swept_rows = 0;     // The sweep looked at these rows for dead contents.
  uint64_t caught_up = 0;      // These records were read back to be encoded.
  uint64_t successors = 0;     // After these updates the old content stays, as a delta of the new one.
  uint64_t cut = 0;            // These write-backs were left out so that reads stay short.
  uint64_t rested_micros = 0;  // The worker rested for this long because others wanted the CPU.
  uint64_t packed_records = 0;
  uint64_t compactions = 0;
  uint64_t cpu_micros = 0;  // This is the CPU time of the worker's thread.
};

// This class is thread-safe.
class DedupWorker {
 public:
  DedupWorker(Contents& contents, const Catalog& catalog, const DedupSettings& settings);
  ~DedupWorker();

  void start();
  void stop();

  // Clients call `wants` before a content is copied, and `push` after the commit. Neither waits for anybody.
  bool wants(const Collection& collection, size_t bytes) const;
  void push(const std::shared_ptr<Collection>& collection, DedupWork work);
  void dropped(CollectionId collection);

  // This function waits until nothing is left to encode and to write back, and with `tidy` also until nothing is left to pack and
  // compact.
  void drain(bool tidy);

  // This function demotes contents that were not read lately, and then packs and compacts one collection's tables, on the
  // caller's thread.
  void tidy(Collection& collection, const std::function<void()>& interrupted);

  // The worker changes nothing while the lock is held.
  std::unique_lock<std::mutex> hold();
  bool counted(CollectionId id) const;  // The caller must hold the lock of `hold`.

  void set_enabled(bool enabled);
  bool enabled() const { return enabled_; }
  void set_queue_bytes(size_t bytes);
  size_t queue_bytes() const;

  // The options are those of the server's profile, or those that were set since. A change takes effect with the next batch of
  // contents, in every database. `set_options` throws BadValue for options that don't `validate`.
  dedup::Options options() const;
  void set_options(const dedup::Options& options);

  dedup::Sketcher sketcher(const Collection& collection) const;

  DedupFigures figures() const;
  struct QueueFigures {
    size_t records = 0, bytes = 0;
    uint64_t dropped = 0, refused = 0;
    size_t behind = 0;  // The worker catches up with these collections by reading them.
  };
  QueueFigures queue_figures() const;

 private:
  // This is a collection that has contents to encode.
  struct Tracked {
    std::shared_ptr<Collection> collection;
    RecordId encoded = 0;  // The worker has looked at every record up to this one.
    RecordId saved = -1;   // This is the value of `encoded` that is stored.
    Stamp saved_missed = RecordStore::State::none_missed;
    Stamp seen = 0;  // The worker has looked at every update up to this timestamp, except those known as missed.
    StoreCounts saved_counts;
    bool behind() const;  // It returns true when the collection is read through instead of queued.
  };
  // A partition is one database under one profile: its feature index, its metadata and its figures. Only the worker's thread uses
  // it.
  struct Partition {
    std::string database, profile;
    std::unique_ptr<MetadataPages> pages;
    std::unique_ptr<dedup::Encoder> encoder;
    LogEstimate log;
    int64_t rebuild_ms = 0;
    size_t share = 1;  // This is the divisor of the caches: the n-th database gets an n-th of them.
    bool dirty = false;
  };
  class Sources;

  void run();
  bool step();  // `step` returns false when there is nothing to do.
  void nap(std::unique_lock<std::mutex>& lock, std::chrono::microseconds least);
  void wake();  // The thread that has pushed something calls this; it takes no lock.
  void load();
  Tracked& track(const std::shared_ptr<Collection>& collection);  // The caller holds mutex_.
  std::shared_ptr<Collection> collection_of(CollectionId id) const;
  std::shared_ptr<ChainStore> store_of(CollectionId id);  // This keeps the collection alive in `in_use_`.
  // This function returns the collections that aren't dropped and for which `wanted(collection)` is true. `wanted` must not lock
  // mutex_.
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
  // `previous` is the generation of the content that the new one replaced; 0 means that there was none, or that it isn't known.
  // `is_base` means that the previous content may still be stored, because deltas are based on it.
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
  std::atomic<size_t> in_hand_{0};  // These works are taken from the queue but not yet done.
  std::atomic<bool> napping_{false};

  mutable std::mutex mutex_;  // This mutex guards the following members up to `partitions_`.
  std::condition_variable wake_;
  std::condition_variable drained_;
  std::unordered_map<CollectionId, Tracked> tracked_;
  DedupFigures figures_;
  dedup::Options options_;
  bool options_changed_ = false;  // The options changed since the worker took them.
  bool stopping_ = false;
  int draining_ = 0;
  int tidying_ = 0;
  // This counts the passes for cold heads that somebody waited for.
  uint64_t questions_ = 0;
  std::unordered_map<CollectionId, uint64_t> asked_, answered_;  // These hold the latest question of each collection.
  // This counts the rounds in which there was nothing at all to do.
  uint64_t idle_rounds_ = 0;
  std::thread thread_;
  std::mutex packing_;           // Only one thread packs at a time.
  std::mutex working_;           // The worker holds this mutex while it changes anything.
  std::atomic<int> holders_{0};  // These threads wait for `working_`.

  std::map<std::string, std::unique_ptr<Partition>, std::less<>> partitions_;
  std::unordered_map<CollectionId, std::shared_ptr<Collection>> in_use_;
  dedup::WritebackCache write_backs_;
  dedup::Options options_in_force_;
  DedupFigures own_;
  int64_t worked_us_ = 0;  // The worker last had something to do at this time.
  int64_t saved_us_ = 0;
  int64_t tidied_us_ = 0;
  bool tidy_done_ = false;
  BackgroundPace pace_;
  WriteBurst burst_;
  struct Sweep {
    DeadSweep dead;
    int64_t begun_us = 0;
    int64_t dead_at_end = -1;  // The last pass left this many dead contents.
    bool spliced = false;      // The current pass spliced something out.
    bool on = false;
  };
  std::unordered_map<CollectionId, Sweep> sweeps_;
  struct Cold {
    ColdPass pass;
    bool on = false;
    uint64_t asked = 0;  // The pass answers this question.
    bool cold = false;   // The pass demotes cold heads.
    Stamp missed_from = RecordStore::State::none_missed;
    int64_t begun_us = 0, ended_us = 0;
    // These were the contents that were too warm at the end of the last pass, and the changes counted by then.
    uint64_t warm = 0, changes = 0;
  };
  std::unordered_map<CollectionId, Cold> colds_;
  std::vector<CollectionId> to_recount_;  // The counts of these collections are from before a crash.
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
