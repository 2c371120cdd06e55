// Looks after sessions while nobody asks: writes down which were used, in
// config.system.sessions, and lets go of those whose time has come, with their
// cursors and their records of retryable writes.
#pragma once

#include "server/passes.h"
#include "server/session_registry.h"

namespace server {

class SessionCare {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit SessionCare(Services& services);

  // From here on a thread runs the passes, every logicalSessionRefreshMillis, until this is destroyed.
  void start() { passes_.start(); }
  // One pass, now, on this thread.
  void run_pass();

 private:
  void try_pass();
  void expire();
  void write_down(const SessionRegistry::News& news);

  Services& services_;
  Passes passes_;
};

}  // namespace server
