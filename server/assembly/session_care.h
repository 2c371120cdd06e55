// SessionCare looks after sessions in the background: it records which were used
// in config.system.sessions, and ends expired ones together with their cursors and
// their records of retryable writes.
#pragma once

#include "base/mutex.h"
#include "server/core/passes.h"
#include "server/core/session_registry.h"

namespace replication {
class Coordinator;
}

namespace server {

class SessionCare {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit SessionCare(Services& services);

  // Starts a thread that runs a pass every logicalSessionRefreshMillis until this is destroyed.
  void start() { passes_.start(); }
  // Runs one pass now, on this thread.
  void run_pass();

 private:
  void try_pass();
  void expire();
  void write_down(const SessionRegistry::News& news);
  void reap(replication::Coordinator& set);

  void append_status(bson::Builder& out) const;

  Services& services_;
  // Done counts all passes so far, and the last one: serverStatus' logicalSessionRecordCache.
  struct Done {
    int64_t passes = 0, begun_ms = 0, took_ms = 0;
    int64_t refreshed = 0, ended = 0;
    int64_t reaps = 0, reap_begun_ms = 0, reap_took_ms = 0, reaped = 0;
  };
  mutable base::Mutex mutex_;
  Done done_ GUARDED_BY(mutex_);
  Passes passes_;
};

}  // namespace server
