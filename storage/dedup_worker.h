// The thread that encodes what was committed, and tidies up when nothing is to
// be encoded.
//
//   queue --> encoder of the database --> write-back cache --> chain tables
//
// In order of urgency: encode what is queued; write back, at once while nothing
// else waits, else when the cache is half full; catch up with collections whose
// queue overflowed, or that a restart left behind; splice dead contents out;
// save where it stands; pack and compact tables.
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
#include "storage/collection.h"
#include "storage/dedup_queue.h"
#include "storage/dedup_state.h"
#include "storage/engine.h"
#include "storage/log_estimate.h"
#include "storage/write_back_flusher.h"

namespace storage {

struct DedupFigures {
  struct Database {
    dedup::EncoderStats encoder;
    LogFigures log;
    int64_t rebuild_ms = 0;
  };
  std::map<std::string, Database> databases;
  WriteBackFigures write_back;
  size_t write_back_records = 0, write_back_bytes = 0, write_back_in_hand = 0;
  uint64_t write_back_discarded = 0, write_back_discarded_bytes = 0;
  uint64_t spliced = 0;
  uint64_t caught_up = 0;  // records that were read back to be encoded
  uint64_t packed_records = 0;
  uint64_t compactions = 0;
  uint64_t cpu_micros = 0;  // of the worker's thread
};

// Thread-safe.
class DedupWorker {
 public:
  DedupWorker(Engine& engine, const DedupSettings& settings);
  ~DedupWorker();

  void start();
  void stop();

  void push(const std::shared_ptr<Collection>& collection, DedupWork work);
  void superseded(CollectionId collection, RecordId record, Stamp generation);
  void dropped(CollectionId collection);

  // Until nothing is left to encode and to write back; `tidy`: nor to pack and compact.
  void drain(bool tidy);

  // Packs and compacts one collection's tables, on the caller's thread.
  void tidy(Collection& collection, const std::function<void()>& interrupted);

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
    RecordId encoded = 0;      // every record up to here was looked at
    RecordId saved = -1;       // `encoded` as it is stored
    StoreCounts saved_counts;
    bool behind = false;       // read through instead of queued
  };
  // One database: its index, its metadata, its figures. The worker's own.
  struct Partition {
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
  void load();
  Tracked& track(const std::shared_ptr<Collection>& collection);  // under mutex_
  std::shared_ptr<Collection> collection_of(CollectionId id) const;
  std::shared_ptr<ChainStore> store_of(CollectionId id);  // keeps the collection

  dedup::Options options_of_partition(size_t share) const;
  void take_options();
  Partition& partition(const std::string& database);
  void encode(const DedupWork& work, Sources& sources);
  void encode_content(Collection& collection, const dedup::ContentId& id, BytesView content, Sources& sources);
  bool encode_queued();
  bool flush(bool everything);
  bool catch_up();
  bool splice_some();
  bool save(bool everything);
  bool tidy(bool now);
  void forget(CollectionId collection, bool dropped);
  void publish(bool with_open_batches);

  Engine& engine_;
  DedupState state_;
  Table metadata_;
  std::atomic<bool> enabled_;
  std::atomic<int64_t> last_client_us_{0};

  mutable std::mutex mutex_;  // guards what follows up to the worker's own
  std::condition_variable wake_;
  std::condition_variable drained_;
  DedupQueue queue_;
  std::unordered_map<CollectionId, Tracked> tracked_;
  DedupFigures figures_;
  dedup::Options options_;
  bool options_changed_ = false;  // since the worker took them
  size_t in_hand_ = 0;         // taken from the queue, not yet done
  bool stopping_ = false;
  int draining_ = 0;
  int tidying_ = 0;
  uint64_t idle_rounds_ = 0;   // times the worker found nothing at all to do
  std::thread thread_;
  std::mutex packing_;         // one at a time

  std::map<std::string, std::unique_ptr<Partition>, std::less<>> partitions_;
  std::unordered_map<CollectionId, std::shared_ptr<Collection>> in_use_;
  dedup::WritebackCache write_backs_;
  dedup::Options options_in_force_;
  DedupFigures own_;
  int64_t saved_us_ = 0;
  int64_t tidied_us_ = 0;
  bool tidy_done_ = false;
};

std::string database_of(std::string_view ns);

}  // namespace storage
