#include "storage/background/scheduler.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/cpu_time.h"
#include "base/log.h"
#include "base/repeated_failures.h"
#include "storage/background/put_off.h"

namespace storage {

namespace {

constexpr int nice_level = 5;
constexpr std::chrono::microseconds nap_min = std::chrono::milliseconds(10);
constexpr std::chrono::microseconds nap_max = std::chrono::milliseconds(500);  // Reads wake nobody; they are noticed this late.
constexpr int nap_share = 40;  // A nap lasts 1/40 of the time for which there was nothing to do.
constexpr std::chrono::microseconds after_failure = std::chrono::milliseconds(1000);
constexpr int64_t quiet_us = 2'000'000;
constexpr int64_t between_waits_us = 500'000;

}  // namespace

Scheduler::Scheduler(base::Clock& clock, std::string thread_name) : clock_(clock), thread_name_(std::move(thread_name)) {}

void Scheduler::start(std::vector<Task*> most_urgent_first, std::function<bool()> has_room, Drafts* drafts) {
  tasks_ = std::move(most_urgent_first);
  drafts_ = drafts;
  has_room_ = std::move(has_room);
  const base::MutexLock lock(mutex_);
  thread_ = std::thread([this] { run(); });
}

bool Scheduler::stop() {
  std::thread ended;
  {
    const base::MutexLock lock(mutex_);
    // drain() and others check whether there is a thread, so they must not see it while join() changes the answer.
    if (!thread_.joinable()) return false;
    ended.swap(thread_);
    stopping_ = true;
  }
  woken_.notify_all();
  ended.join();
  idle_.notify_all();
  return true;
}

bool Scheduler::running() const {
  const base::MutexLock lock(mutex_);
  return thread_.joinable() && !stopping_;
}

bool Scheduler::stopping() const {
  const base::MutexLock lock(mutex_);
  return stopping_;
}

void Scheduler::wake() {
  if (napping_.load() && napping_.exchange(false)) woken_.notify_all();
}

void Scheduler::call() {
  // The lock makes sure that the thread is either asleep, or has yet to look whether it was called.
  const base::MutexLock lock(mutex_);
  woken_.notify_all();
}

void Scheduler::drain(bool tidy) {
  base::MutexLock lock(mutex_);
  if (!thread_.joinable() || stopping_) return;
  ++draining_;
  tidying_ += tidy;
  const uint64_t before = idle_rounds_;
  woken_.notify_all();
  // A whole round must have begun after the call.
  while (!stopping_ && idle_rounds_ < before + 2) idle_.wait(lock);
  --draining_;
  tidying_ -= tidy;
}

std::unique_lock<std::mutex> Scheduler::hold() {
  ++holders_;
  std::unique_lock<std::mutex> held(working_);
  --holders_;
  return held;
}

std::chrono::microseconds Scheduler::nap_after(std::chrono::microseconds idle) {
  return std::clamp(idle / nap_share, nap_min, nap_max);
}

// --- the thread

void Scheduler::run() {
  const base::LogContext context(thread_name_);
  pthread_setname_np(pthread_self(), thread_name_.c_str());
  setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice_level);
  // A member that copies another one's data fails each second until it is done, so failures are logged together.
  base::RepeatedFailures failures;
  while (!stopping()) {
    bool worked = false;
    std::chrono::microseconds least = nap_min;
    try {
      while (holders_ > 0)
        // Without this sleep the waiting threads would hardly ever get the lock.
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::lock_guard working(working_);
      worked = step();
    } catch (const std::exception& error) {
      failures.add(error);
      least = after_failure;
    }
    if (const auto due = failures.take_due(clock_.monotonic_us())) log_put_off("working", due->first, due->times);
    cpu_micros_ = static_cast<uint64_t>(1e6 * base::thread_cpu_seconds());
    if (worked) {
      worked_us_ = clock_.monotonic_us();
      rest();
      continue;
    }
    burst_.over(clock_.monotonic_us());
    base::MutexLock lock(mutex_);
    ++idle_rounds_;
    idle_.notify_all();
    if (!has_room()) least = after_failure;  // Tasks that need room stay due meanwhile.
    if (!stopping_ && draining_ == 0) nap(lock, least);
  }
  try {
    for (Task* task : tasks_) task->finish();
  } catch (const std::exception& error) {
    log_put_off("stopping", error.what());
  }
}

bool Scheduler::step() {
  const Round now = round();
  return std::any_of(tasks_.begin(), tasks_.end(),
                     [&](Task* task) { return (now.room || !task->needs_room()) && step_of(*task, now); });
}

// While a draft is open, the task has no turn; what waits for it waits on. The thread waits for drafts to end only now and then,
// since others don't begin meanwhile.
bool Scheduler::step_of(Task& task, const Round& now) {
  if (!drafts_ || !task.moves_contents()) return task.step(now);
  const int64_t now_us = clock_.monotonic_us();
  const bool wait = now_us - drafts_awaited_us_ > between_waits_us;
  const auto alone = drafts_->try_alone(wait);
  if (!alone && wait) drafts_awaited_us_ = now_us;
  return alone && task.step(now);
}

bool Scheduler::has_room() const {
  return !has_room_ || has_room_();
}

Round Scheduler::round() const {
  Round round;
  {
    const base::MutexLock lock(mutex_);
    round.draining = draining_ > 0;
    round.tidying = tidying_ > 0;
  }
  const int64_t unwritten_us = clock_.monotonic_us() - last_client_us();
  round.idle = unwritten_us > WriteBurst::idle_us;
  round.quiet = unwritten_us > quiet_us;
  round.room = has_room();
  return round;
}

WriteBurst::Waiting Scheduler::waiting() const {
  WriteBurst::Waiting all;
  for (const Task* task : tasks_) {
    const auto one = task->waiting();
    all.count += one.count;
    all.behind |= one.behind;
  }
  return all;
}

bool Scheduler::called() const {
  return stopping_ || draining_ > 0 || std::any_of(tasks_.begin(), tasks_.end(), [](Task* task) { return task->awaited(); });
}

void Scheduler::nap(base::MutexLock& lock, std::chrono::microseconds least) {
  const std::chrono::microseconds idle(clock_.monotonic_us() - std::max(worked_us_, last_client_us()));
  const auto length = std::max(least, nap_after(idle));
  napping_ = true;
  // If a thread pushed before it saw `napping_`, its work is noticed here. A wake-up before the wait begins is lost, which costs
  // one nap.
  if (waiting().count == 0 || least > nap_min) woken_.wait_for(lock, length);
  napping_ = false;
}

// This function lets other threads that want the CPU go first, and waits while a burst of writes lasts.
void Scheduler::rest() {
  const auto wanted = pace_.rest();
  base::MutexLock lock(mutex_);
  const auto is_called = [this]() REQUIRES(mutex_) { return called(); };
  const int64_t begun = clock_.monotonic_us();
  if (wanted.count() > 0 && begun - last_client_us() <= WriteBurst::idle_us) {
    woken_.wait_for(lock, wanted, is_called);
    rested_micros_ += static_cast<uint64_t>(clock_.monotonic_us() - begun);
  }
  while (burst_.lasts(clock_.monotonic_us(), last_client_us(), waiting()) && !called())
    woken_.wait_for(lock, std::chrono::microseconds(WriteBurst::idle_us), is_called);
}

}  // namespace storage
