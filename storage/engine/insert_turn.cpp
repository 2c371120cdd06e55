#include "storage/engine/insert_turn.h"

#include <chrono>

namespace storage {

constexpr auto wait_max = std::chrono::milliseconds(100);

bool InsertTurn::take(const Transaction& transaction) {
  base::MutexLock lock(mutex_);
  if (holder_ == &transaction) return false;
  if (!given_back_.wait_for(lock, wait_max, [this]() REQUIRES(mutex_) { return holder_ == nullptr; })) throw WriteConflict();
  holder_ = &transaction;
  return true;
}

void InsertTurn::give_back() {
  {
    const base::MutexLock lock(mutex_);
    holder_ = nullptr;
  }
  given_back_.notify_one();
}

}  // namespace storage
