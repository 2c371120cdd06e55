// What queries keep for as long as the server runs: the cursors, the thread that
// lets forgotten ones go, its parameter and its part of serverStatus.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "server/query/cursor_registry.h"

namespace base {
class Clock;
}
namespace server {
class ServerParameters;
class StatusSections;
}
namespace storage {
class Catalog;
}

namespace server::query {

// Plugs itself in: `cursorTimeoutMillis` and `clientCursorMonitorFrequencySecs`, and the
// compiler of partial indexes' filters.
class QueryService {
 public:
  QueryService(ServerParameters& parameters, base::Clock& clock);
  ~QueryService();
  QueryService(const QueryService&) = delete;
  QueryService& operator=(const QueryService&) = delete;

  // Partial indexes can be built and kept from now on.
  void attach(storage::Catalog& catalog);

  CursorRegistry& cursors() { return cursors_; }
  // serverStatus().metrics.cursor
  void append_status(bson::Builder& out) const;

 private:
  void watch();

  base::Clock& clock_;
  CursorRegistry cursors_;
  std::atomic<int64_t> timeout_ms_{CursorRegistry::timeout_ms_default};
  std::atomic<int64_t> watch_seconds_{4};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread watcher_;
};

}  // namespace server::query
