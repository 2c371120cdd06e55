#include "storage/engine/reclaimer.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "storage/engine/engine.h"

namespace storage {
namespace {

constexpr std::chrono::seconds pause(1);
constexpr int64_t reusable_min = 1 << 20;  // WiredTiger compacts no file in which it would gain less
constexpr int64_t reusable_share = 5;

}  // namespace

void Reclaimer::start() {
  thread_ = std::thread([this] { run(); });
}

void Reclaimer::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Reclaimer::ends() const {
  const base::MutexLock lock(mutex_);
  return stopping_ || space_.state() < DiskState::full;
}

// A file shows what became free only after a checkpoint.
void Reclaimer::pass() {
  engine_.checkpoint();
  std::map<std::string, int64_t> tried;
  for (const std::string& table : engine_.table_names()) {
    if (ends()) return;
    const int64_t file = engine_.file_bytes(table), reusable = engine_.reusable_bytes(table);
    if (reusable < std::max(reusable_min, file / reusable_share)) continue;
    if (const auto before = tried_.find(table); before != tried_.end() && before->second == reusable) {
      tried.insert(*before);
      continue;
    }
    engine_.compact(table);
    engine_.checkpoint();
    tried[table] = engine_.reusable_bytes(table);
    base::log(base::Severity::info, base::LogComponent::storage, 7200304, "A table was compacted because the disk is full",
              base::Attributes().add("table", table).add("freedBytes", file - engine_.file_bytes(table)));
  }
  tried_ = std::move(tried);
}

void Reclaimer::run() {
  base::LogContext context("SpaceReclaimer");
  uint64_t written = 0;  // as of the last pass; a delete counts
  uint64_t seen = 0;
  base::MutexLock lock(mutex_);
  for (;;) {
    woken_.wait_for(lock, pause, [this]() REQUIRES(mutex_) { return stopping_; });
    if (stopping_) return;
    // While a transaction is open, a checkpoint writes what others have deleted since it began once more: so much room there may
    // not be. So a pass waits until the deletes are over.
    const uint64_t before = std::exchange(seen, space_.written_bytes());
    if (before != seen || space_.state() < DiskState::full || seen == written) continue;
    lock.unlock();
    written = seen;
    try {
      pass();
    } catch (const std::exception& error) {
      base::log(base::Severity::info, base::LogComponent::storage, 7200305,
                "Space inside files could not be given back; trying again", base::Attributes().add("error", error.what()));
    }
    lock.lock();
  }
}

}  // namespace storage
