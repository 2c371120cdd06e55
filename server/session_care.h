// Looks after sessions while nobody asks: writes down which were used, in
// config.system.sessions, and lets go of those whose time has come, with their
// cursors and their records of retryable writes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/session_registry.h"

namespace server {

struct Services;

class SessionCare {
 public:
  // Adds its parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit SessionCare(Services& services);
  ~SessionCare();
  SessionCare(const SessionCare&) = delete;
  SessionCare& operator=(const SessionCare&) = delete;

  // From here on a thread runs the passes, every logicalSessionRefreshMillis.
  void start();
  // One pass, now, on this thread.
  void run_pass();

 private:
  void run();
  void expire();
  void write_down(const SessionRegistry::News& news);

  Services& services_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace server
