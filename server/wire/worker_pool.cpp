#include "server/wire/worker_pool.h"

#include <pthread.h>

#include <chrono>

namespace server::wire {

namespace {
constexpr auto patience = std::chrono::milliseconds(5);      // before a thread is added
constexpr auto idle_time_max = std::chrono::seconds(30);     // before an extra one leaves
}  // namespace

WorkerPool::WorkerPool(const Size& size) : size_(size) {
  std::lock_guard lock(mutex_);
  for (int i = 0; i < size_.threads_min; ++i) add_thread(false);
  supervisor_ = std::thread([this] { supervise(); });
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    work_.notify_all();
    supervision_.notify_all();
  }
  supervisor_.join();
  std::unique_lock lock(mutex_);
  gone_.wait(lock, [this] { return threads_ == 0; });
}

void WorkerPool::submit(std::function<void()> work) {
  std::lock_guard lock(mutex_);
  queue_.push_back(std::move(work));
  if (idle_ > 0) work_.notify_one();
  if (idle_ < static_cast<int>(queue_.size())) supervision_.notify_one();
}

int WorkerPool::threads() const {
  std::lock_guard lock(mutex_);
  return threads_;
}

size_t WorkerPool::queued() const {
  std::lock_guard lock(mutex_);
  return queue_.size();
}

void WorkerPool::add_thread(bool extra) {
  ++threads_;
  std::thread([this, extra] { work_on(extra); }).detach();
}

void WorkerPool::work_on(bool extra) {
  pthread_setname_np(pthread_self(), "worker");
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    const auto ready = [this] { return !queue_.empty() || stopping_; };
    bool woken = true;
    if (extra) woken = work_.wait_for(lock, idle_time_max, ready);
    else work_.wait(lock, ready);
    --idle_;
    if (!woken || queue_.empty()) break;
    {
      const auto work = std::move(queue_.front());
      queue_.pop_front();
      ++taken_;
      lock.unlock();
      work();
    }
    lock.lock();
  }
  --threads_;
  // Told under the lock: the pool is gone as soon as it is let go.
  gone_.notify_all();
}

void WorkerPool::supervise() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    supervision_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (stopping_) break;
    const uint64_t before = taken_;
    supervision_.wait_for(lock, patience, [this] { return stopping_; });
    const bool stuck = !queue_.empty() && idle_ == 0 && taken_ == before;
    if (!stopping_ && stuck && threads_ < size_.threads_max) add_thread(true);
  }
}

}  // namespace server::wire
