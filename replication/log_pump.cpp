#include "replication/log_pump.h"

#include <chrono>

#include "base/error.h"
#include "base/log.h"
#include "replication/log_record.h"
#include "storage/store.h"

namespace replication {

using storage::Stamp;

namespace {

constexpr size_t read_bytes = 4 << 20;
constexpr auto refused_pause = std::chrono::milliseconds(2);
constexpr auto idle_wait = std::chrono::milliseconds(200);

}  // namespace

LogPump::LogPump(storage::Store& store, Oplog& oplog, ForwardLog& forward, Propose propose, Placed placed)
    : store_(store),
      reader_(store, oplog),
      forward_(forward),
      propose_(std::move(propose)),
      placed_(std::move(placed)),
      thread_([this] { run(); }) {}

LogPump::~LogPump() {
  {
    const base::MutexLock lock(mutex_);
    stopping_ = true;
  }
  woken_.notify_all();
  thread_.join();
}

// Called with every commit: the lock is taken by the one who finds nothing to do yet.
void LogPump::wake() {
  if (work_.exchange(true, std::memory_order_acq_rel)) return;
  { const base::MutexLock lock(mutex_); }
  woken_.notify_one();
}

void LogPump::lead(consensus::Term term, Stamp after) {
  forward_.lead();
  {
    const base::MutexLock lock(mutex_);
    term_ = term;
    proposed_stamp_ = after;
    work_ = true;
  }
  woken_.notify_one();
}

void LogPump::stop_leading() {
  base::MutexLock lock(mutex_);
  term_ = 0;
  woken_.notify_all();
  moved_.notify_all();
  moved_.wait(lock, [this]() REQUIRES(mutex_) { return !pumping_; });
}

bool LogPump::drain(std::chrono::microseconds within) {
  const Stamp below = store_.engine().all_committed();
  base::MutexLock lock(mutex_);
  work_ = true;
  woken_.notify_one();
  moved_.wait_for(lock, within, [&]() REQUIRES(mutex_) { return term_ == 0 || proposed_stamp_ + 1 >= below; });
  return term_ != 0 && proposed_stamp_ + 1 >= below;
}

bool LogPump::left_over() {
  const Stamp from = proposed_stamp() + 1, below = store_.engine().all_committed();
  return from < below && !reader_.read(from, below, 1).empty();
}

consensus::Index LogPump::proposed_index() const {
  const base::MutexLock lock(mutex_);
  return proposed_index_;
}

Stamp LogPump::proposed_stamp() const {
  const base::MutexLock lock(mutex_);
  return proposed_stamp_;
}

void LogPump::run() {
  base::LogContext context("LogPump");
  base::MutexLock lock(mutex_);
  while (!stopping_) {
    woken_.wait_for(lock, idle_wait, [this]() REQUIRES(mutex_) { return stopping_ || (term_ != 0 && work_); });
    if (stopping_) return;
    if (term_ == 0) continue;
    work_ = false;
    while (!stopping_ && term_ != 0 && pump_some()) {
    }
  }
}

std::optional<consensus::Position> LogPump::propose(const LogRecord& record, consensus::Term term) {
  // A part has no timestamp of its own: nothing is reached before the last.
  const base::Bytes data = encode(forward_.encode(record)),
                    context = record.goes_on ? base::Bytes() : stamp_context(record.last());
  forward_.figures().sent_bytes.add(static_cast<int64_t>(data.size()));
  for (;;) {
    if (const auto place = propose_(data, context)) {
      base::check(place->term == term, "a record went to the log in another term than it was written in");
      if (!record.goes_on) placed_(*place, record);
      return place;
    }
    // Too much is under way, or leadership is being handed over or gone: then somebody will say so.
    base::MutexLock lock(mutex_);
    if (woken_.wait_for(lock, refused_pause, [&]() REQUIRES(mutex_) { return term_ != term || stopping_; })) return std::nullopt;
  }
}

bool LogPump::pump_some() {
  const Stamp from = proposed_stamp_ + 1;
  Stamp below = 0;
  std::vector<LogRecord> records;
  {
    const base::MutexUnlock unlocked(mutex_);
    below = store_.engine().all_committed();
    if (from < below) records = reader_.read(from, below, read_bytes);
  }
  for (const LogRecord& record : records) {
    if (term_ == 0 || stopping_) return false;
    pumping_ = true;
    const consensus::Term term = term_;
    std::optional<consensus::Position> place;
    {
      const base::MutexUnlock unlocked(mutex_);
      place = propose(record, term);
    }
    pumping_ = false;
    if (place) {
      proposed_index_ = place->index;
      proposed_stamp_ = record.last();
    }
    moved_.notify_all();
    if (!place) return false;
  }
  // Nobody used the timestamps that are left below.
  if (records.empty() && from < below && term_ != 0) {
    proposed_stamp_ = below - 1;
    moved_.notify_all();
  }
  return !records.empty();
}

}  // namespace replication
