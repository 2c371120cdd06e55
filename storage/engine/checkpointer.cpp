#include "storage/engine/checkpointer.h"

#include <chrono>
#include <mutex>

#include "base/clock_time.h"
#include "base/error.h"
#include "base/log.h"

namespace storage {

Checkpointer::Checkpointer(base::Clock& clock, wt::Connection& connection, DiskSpace& space, int seconds, Around around)
    : clock_(clock), connection_(connection), space_(space), around_(std::move(around)), thread_([this, seconds] {
        run(seconds);
      }) {}

void Checkpointer::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Checkpointer::checkpoint() {
  around_([this] { take(); });
}

void Checkpointer::take() {
  const std::lock_guard taking(taking_);
  const int64_t start = clock_.monotonic_us();
  const wt::Session session = connection_.open_session();
  const uint64_t written = space_.written_bytes();
  wt::check(session->checkpoint(session.get(), nullptr), "taking a checkpoint");
  space_.checkpointed(written);
  last_ms_.set((clock_.monotonic_us() - start) / 1000);
  count_.add();
}

void Checkpointer::run(int seconds) {
  base::LogContext context("Checkpointer");
  auto due = base::now(clock_) + std::chrono::seconds(seconds);
  uint64_t written_before = 0;
  base::MutexLock lock(mutex_);
  for (;;) {
    woken_.wait_for(lock, std::chrono::milliseconds(200), [this]() REQUIRES(mutex_) { return stopping_; });
    if (stopping_) return;
    space_.look();
    const uint64_t written = space_.written_bytes();
    if (base::now(clock_) < due && written - written_before < written_bytes_max) continue;
    lock.unlock();
    try {
      checkpoint();
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::storage, 22441,
                "Checkpoint failed; the journal still has everything", base::Attributes().add("error", error.what()));
    }
    lock.lock();
    written_before = written;
    due = base::now(clock_) + std::chrono::seconds(seconds);
  }
}

}  // namespace storage
