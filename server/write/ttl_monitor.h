// Removes documents whose time has come: those under an index with
// expireAfterSeconds whose date is older than that.
//
// A pass goes over all such indexes, every `ttlMonitorSleepSecs`, unless
// `ttlMonitorEnabled` is off. It deletes as a user's delete would, in small
// transactions, so it stops nobody and can itself be stopped between two of them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

namespace storage {
class Collection;
class Index;
}

namespace server {
class OperationContext;
struct Services;
}

namespace server::write {

class TtlMonitor {
 public:
  // Adds its two parameters to `services.parameters`. `services` outlives it and has an engine.
  explicit TtlMonitor(Services& services);
  ~TtlMonitor();  // interrupts a pass that runs
  TtlMonitor(const TtlMonitor&) = delete;
  TtlMonitor& operator=(const TtlMonitor&) = delete;

  // From here on a thread runs the passes.
  void start();
  // One pass, now, on this thread; returns how many documents it removed.
  int64_t run_pass();

 private:
  void run();
  int64_t expire(const storage::Collection& collection, const storage::Index& index);

  Services& services_;
  std::atomic<bool> enabled_{true};
  std::atomic<int64_t> sleep_seconds_{60};
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  OperationContext* running_ = nullptr;
  std::thread thread_;
};

}  // namespace server::write
