// The TTL monitor removes expired documents: those under an index with
// expireAfterSeconds whose date is older than that, and those of a clustered
// collection with expireAfterSeconds whose _id is such a date. Of a time series
// with expireAfterSeconds it removes the buckets whose newest measurement is
// older than that.
//
// A pass visits all such indexes, every `ttlMonitorSleepSecs`, unless
// `ttlMonitorEnabled` is off. It deletes as a user's delete does, in small
// transactions, so it blocks nobody and can itself be stopped between two of them.
#pragma once

#include <atomic>
#include <cstdint>

#include "bson/document.h"
#include "server/core/passes.h"

namespace storage {
class Collection;
class Index;
}  // namespace storage

namespace server::write {

class TtlMonitor {
 public:
  // Adds its two parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit TtlMonitor(Services& services);

  // Starts a thread that runs the passes until this is destroyed.
  void start() { passes_.start(); }
  // Runs one pass now, on this thread; returns how many documents it removed.
  int64_t run_pass();

 private:
  bool is_held_back(const std::string& db) const;  // its documents are still to come
  int64_t expire_clustered(const storage::Collection& collection);
  int64_t expire(const storage::Collection& collection, const storage::Index& index, int64_t seconds);
  int64_t remove(const storage::Collection& collection, const storage::Index& index, const bson::Document& filter);

  Services& services_;
  std::atomic<bool> enabled_{true};
  std::atomic<int64_t> sleep_seconds_{60};
  Passes passes_;
};

}  // namespace server::write
