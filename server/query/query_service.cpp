#include "server/query/query_service.h"

#include "base/clock.h"
#include "server/parameters.h"
#include "server/query/plan/implies.h"
#include "storage/catalog.h"

namespace server::query {

QueryService::QueryService(ServerParameters& parameters, base::Clock& clock) : clock_(clock) {
  parameters.add_integer("cursorTimeoutMillis", timeout_ms_, {.min = 1});
  parameters.add_integer("clientCursorMonitorFrequencySecs", watch_seconds_, {.min = 1});
  watcher_ = std::thread([this] { watch(); });
}

QueryService::~QueryService() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  watcher_.join();
}

void QueryService::attach(storage::Catalog& catalog) { catalog.set_predicate_compiler(plan::compile_partial_filter); }

void QueryService::watch() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, std::chrono::seconds(watch_seconds_.load()), [this] { return stop_; })) {
    lock.unlock();
    cursors_.expire(clock_.wall_ms(), timeout_ms_.load());
    lock.lock();
  }
}

void QueryService::append_status(bson::Builder& out) const {
  const CursorRegistry::Counts counts = cursors_.counts();
  out.append("timedOut", counts.timed_out).append("totalOpened", counts.opened);
  auto open = out.object("open");
  open.append("noTimeout", counts.no_timeout).append("pinned", counts.pinned).append("total", counts.open);
}

}  // namespace server::query
