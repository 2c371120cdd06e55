// The service runs dedup on a live engine: its encoders, one for each database, work in the background on what was committed
// (dbDedup).
//
// After the commit of a write its content is queued. The background computes its sketch, finds a source, makes the deltas, and
// puts the backward deltas into the write-back cache. The cache is flushed when the server is idle or the cache is full. A queue
// beyond its budget keeps only record ids: the service only puts work off and never loses data.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "bson/builder.h"
#include "dedup/sketch.h"
#include "storage/background/dedup_settings.h"
#include "storage/collections/write_observer.h"

namespace storage {

class Catalog;
struct Contents;

// This class is thread-safe.
class DedupService final : public WriteObserver {
 public:
  DedupService(Contents& contents, const Catalog& catalog, const DedupSettings& settings);
  ~DedupService() override;

  void start();
  void stop();  // `stop` writes back what is cheap to write, and saves the place at which encoding goes on.

  // When dedup is switched off at run time, the service still queues new contents for later. When it is off from the start, it
  // queues nothing until it is switched on.
  bool listens() const override;
  bool wants(const Collection& collection, size_t bytes) const override;
  void written(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation, Stamp previous,
               bool previous_is_base, std::optional<Bytes> content) override;
  void removed(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation) override;
  void dropped(const std::shared_ptr<Collection>& collection) override;

  // This function waits until nothing is queued and nothing waits to be written back. With `tidy` it also waits until the freed
  // space is packed and given back to the file system.
  void drain(bool tidy = false);

  // This function packs the collection's rows and gives unused file space back. The background does the same in quiet times; this
  // function does it now, on the caller's thread. It calls `interrupted` between batches, which may throw.
  void tidy(Collection& collection, const std::function<void()>& interrupted = nullptr);

  // The background changes nothing while the lock is held. This function waits for the step that the background is at. The caller
  // must not hold the lock while it calls `drain`.
  std::unique_lock<std::mutex> hold();
  // This function returns whether the counts of what the collection stores are exact. After a crash they are not exact until the
  // background has counted the collection's rows. The caller must hold the lock of `hold`.
  bool counted(const Collection& collection) const;

  // setParameter may change these options while the server runs. Contents that are written while dedup is off are encoded once it
  // is on again.
  void set_enabled(bool enabled);
  bool enabled() const;
  void set_queue_bytes(uint64_t bytes);
  uint64_t queue_bytes() const;
  // The options are those of the server's profile, or those that were set since. A change takes effect with the next contents
  // that are encoded, in every database. `set_options` throws BadValue for options that don't `validate`.
  dedup::Options options() const;
  void set_options(const dedup::Options& options);

  // The sketcher computes the sketches that the encoder uses for the collection's contents, so that a caller can compare two
  // contents as the encoder does.
  dedup::Sketcher sketcher(const Collection& collection) const;

  void append_server_status(bson::Builder& out) const;                                   // This fills serverStatus().dedup.
  void append_database_stats(const std::string& db, bson::Builder& out) const;           // This fills dbStats().dedup.
  void append_collection_stats(const Collection& collection, bson::Builder& out) const;  // This fills collStats().dedup.

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace storage
