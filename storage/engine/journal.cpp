#include "storage/engine/journal.h"

#include <chrono>

#include "base/error.h"
#include "base/log.h"

namespace storage {

Journal::Journal(wt::Connection& connection, int commit_ms)
    : session_(connection.open_session()), thread_([this, commit_ms] { run(commit_ms); }) {}

Journal::~Journal() {
  stop();
}

void Journal::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Journal::when_durable(std::function<void()> done) {
  {
    const base::MutexLock lock(mutex_);
    waiting_.push_back(std::move(done));
    if (waiting_.size() > 1) return;  // the first caller has woken the thread
  }
  woken_.notify_one();
}

void Journal::run(int commit_ms) {
  base::LogContext context("JournalFlusher");
  std::vector<std::function<void()>> served;
  for (bool last = false; !last;) {
    {
      base::MutexLock lock(mutex_);
      woken_.wait_for(lock, std::chrono::milliseconds(commit_ms),
                      [this]() REQUIRES(mutex_) { return stopping_ || !waiting_.empty(); });
      last = stopping_;
      served.swap(waiting_);
    }
    // If the journal can't be synced, acknowledged writes may be lost: the process ends rather than acknowledge more.
    if (const int result = session_->log_flush(session_.get(), "sync=on"); result != 0) wt::fail(WT_PANIC, "syncing the journal");
    syncs_.fetch_add(1, std::memory_order_relaxed);
    for (auto& done : served) done();
    served.clear();
  }
}

}  // namespace storage
