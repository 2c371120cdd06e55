#include "storage/engine/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>
#include <utility>

#include "base/clock_time.h"
#include "base/error.h"
#include "base/log.h"
#include "storage/engine/essential_writes.h"
#include "storage/engine/interruptible_waits.h"

namespace storage {
namespace {

constexpr std::chrono::seconds room_wait_max(30);
constexpr std::chrono::milliseconds room_wait_step(20);
// WiredTiger removes the journal's old files in a thread of its own, once a checkpoint has made them needless.
constexpr std::chrono::milliseconds removal_max(3000), removal_step(10), retry_step(100);

}  // namespace

Checkpointer::Checkpointer(base::Clock& clock, wt::Connection& connection, DiskSpace& space, int seconds, Around around,
                           std::function<bool()> asks)
    : clock_(clock),
      connection_(connection),
      space_(space),
      around_(std::move(around)),
      asks_(std::move(asks)),
      thread_([this, seconds] { run(seconds); }) {}

void Checkpointer::stop() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_one();
  made_room_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// The files that a journal has no need of any more go a little after the checkpoint that made them needless. So one that finds
// no room is taken again: what the last one left may be just what it lacks.
void Checkpointer::checkpoint() {
  const auto until = base::now(clock_) + removal_max;
  for (;;) {
    try {
      return around_([this] { take(); });
    } catch (const base::OperationError& error) {
      if (error.code() != base::ErrorCode::out_of_disk_space) throw;
      const std::lock_guard taking(taking_);
      const bool gave_up = connection_.give_metadata_copy_up();
      if (!gave_up && base::now(clock_) >= until) throw;
    }
    ask_interrupted();
    std::this_thread::sleep_for(retry_step);
  }
}

void Checkpointer::make_room(DiskUse use) {
  base::MutexLock lock(mutex_);
  // A checkpoint that has begun may have passed the caller's tables already.
  const uint64_t wanted = begun_ + 1;
  room_wanted_ = std::max(room_wanted_, wanted);
  room_use_ = std::min(room_use_, use);
  woken_.notify_one();
  const auto until = base::now(clock_) + room_wait_max;
  while (!made_room_.wait_for(lock, room_wait_step, [&]() REQUIRES(mutex_) { return stopping_ || ended_ >= wanted; })) {
    lock.unlock();
    ask_interrupted();
    if (base::now(clock_) >= until) return;
    lock.lock();
  }
}

void Checkpointer::take() {
  const std::lock_guard taking(taking_);
  const int64_t start = clock_.monotonic_us();
  const wt::Session session = connection_.open_session();
  const EssentialWrites essential;
  wt::check(session->checkpoint(session.get(), nullptr), "taking a checkpoint");
  last_ms_.set((clock_.monotonic_us() - start) / 1000);
  count_.add();
  copy_metadata();
  space_.checkpointed();
}

// The copy is written beside the last one.
void Checkpointer::copy_metadata() {
  const DiskFigures figures = space_.figures();
  if (space_.has_room(DiskUse::background) && figures.free_bytes >= 2 * figures.reserve_bytes + connection_.metadata_bytes())
    connection_.copy_metadata();
  else
    connection_.give_metadata_copy_up();
}

// When room is short, the journal must not take the reserve: a checkpoint makes its files needless.
bool Checkpointer::journal_is_long(uint64_t written) const {
  if (space_.has_room(DiskUse::background)) return written >= written_bytes_max;
  return written >= 2 * journal_file_bytes(space_.reserve_bytes());
}

void Checkpointer::wait_for_room(DiskUse use) {
  const auto until = base::now(clock_) + removal_max;
  for (space_.look(); !space_.has_room(use) && base::now(clock_) < until; space_.look())
    std::this_thread::sleep_for(removal_step);
}

// A failure that repeats is logged once.
bool Checkpointer::is_asked() {
  if (!asks_) return false;
  try {
    const bool asked = asks_();
    asks_failed_ = false;
    return asked;
  } catch (const std::exception& error) {
    if (!std::exchange(asks_failed_, true)) {
      base::log(base::Severity::warning, base::LogComponent::storage, 7200307, "The open files can't be counted",
                base::Attributes().add("error", error.what()));
    }
    return false;
  }
}

void Checkpointer::run(int seconds) {
  base::LogContext context("Checkpointer");
  {
    const std::lock_guard taking(taking_);
    copy_metadata();  // the replay has taken a checkpoint
  }
  auto due = base::now(clock_) + std::chrono::seconds(seconds);
  uint64_t written_before = 0;
  base::MutexLock lock(mutex_);
  for (;;) {
    woken_.wait_for(lock, std::chrono::milliseconds(200),
                    [this]() REQUIRES(mutex_) { return stopping_ || room_wanted_ > ended_; });
    if (stopping_) return;
    lock.unlock();
    space_.look();
    const bool asked = is_asked();
    lock.lock();
    const bool room_wanted = room_wanted_ > ended_;
    const uint64_t written = space_.written_bytes();
    if (!room_wanted && !asked && base::now(clock_) < due && !journal_is_long(written - written_before)) continue;
    ++begun_;
    const DiskUse use = std::exchange(room_use_, DiskUse::release);
    lock.unlock();
    try {
      checkpoint();
    } catch (const std::exception& error) {
      base::log(base::Severity::warning, base::LogComponent::storage, 22441,
                "Checkpoint failed; the journal still has everything", base::Attributes().add("error", error.what()));
      space_.checkpointed();
    }
    if (room_wanted) wait_for_room(use);
    lock.lock();
    ended_ = begun_;
    made_room_.notify_all();
    written_before = written;
    due = base::now(clock_) + std::chrono::seconds(seconds);
  }
}

}  // namespace storage
