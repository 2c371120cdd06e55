// Dedup at work on a live engine: dbDedup's encoders, one per database, run in
// the background over what was committed.
//
// After an insert's commit its content is queued; a worker sketches it, finds a
// source, makes the deltas, and puts the backward ones into the write-back
// cache, which is flushed when the server is idle or the cache is full. A queue
// beyond its budget keeps only record ids: work is put off, never data lost.
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

// Thread-safe.
class DedupService final : public WriteObserver {
 public:
  DedupService(Contents& contents, const Catalog& catalog, const DedupSettings& settings);
  ~DedupService() override;

  void start();
  void stop();  // writes back what it can cheaply, keeps the place where encoding goes on

  // Switched off at run time it keeps what comes for later; off from the start, it keeps nothing until it is switched on.
  bool listens() const override;
  bool wants(const Collection& collection, size_t bytes) const override;
  void written(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation, Stamp previous,
               bool previous_is_base, std::optional<Bytes> content) override;
  void removed(const std::shared_ptr<Collection>& collection, RecordId id, Stamp generation) override;
  void dropped(const std::shared_ptr<Collection>& collection) override;

  // Until nothing is queued and nothing waits to be written back; `tidy`: and what
  // that freed is packed and given back to the file system.
  void drain(bool tidy = false);

  // Packs the collection's rows and gives unused file space back: what the background does in
  // quiet times, now and on the caller's thread. `interrupted` is asked between batches and may throw.
  void tidy(Collection& collection, const std::function<void()>& interrupted = nullptr);

  // While it is held the background changes nothing; waits for what it is at. Not to be held over `drain`.
  std::unique_lock<std::mutex> hold();
  // Whether the counts of what the collection stores are exact: after a crash they are not until the background has
  // counted its rows. To be asked while `hold` is held.
  bool counted(const Collection& collection) const;

  // What setParameter may change while it runs. Contents that come in while it is
  // off are encoded once it is on again.
  void set_enabled(bool enabled);
  bool enabled() const;
  void set_queue_bytes(uint64_t bytes);
  uint64_t queue_bytes() const;
  // As the server's profile has it, or as it was set since. A change takes effect with what is encoded next, in every
  // database; throws BadValue for options that don't `validate`.
  dedup::Options options() const;
  void set_options(const dedup::Options& options);

  // How the encoder sees the collection's contents: tells what two of them have in common.
  dedup::Sketcher sketcher(const Collection& collection) const;

  void append_server_status(bson::Builder& out) const;                                   // serverStatus().dedup
  void append_database_stats(const std::string& db, bson::Builder& out) const;           // dbStats().dedup
  void append_collection_stats(const Collection& collection, bson::Builder& out) const;  // collStats().dedup

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace storage
