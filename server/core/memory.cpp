#include "server/core/memory.h"

#include <algorithm>
#include <string>

#include "base/allocator.h"
#include "base/error.h"

namespace server {

namespace {

// The allocator keeps some of what was freed. After peaks above this it is asked to return all of it.
constexpr uint64_t trim_above_bytes = 256 << 20;

void raise(std::atomic<uint64_t>& peak, uint64_t value) {
  uint64_t known = peak.load(std::memory_order_relaxed);
  while (known < value && !peak.compare_exchange_weak(known, value, std::memory_order_relaxed)) {
  }
}

}  // namespace

MemoryPool::MemoryPool(uint64_t bytes_max, uint64_t operation_bytes_max)
    : limits_{static_cast<int64_t>(bytes_max), static_cast<int64_t>(operation_bytes_max)} {}

bool MemoryPool::take_below(uint64_t bytes, int64_t share) {
  const auto bytes_max = static_cast<uint64_t>(limits_.bytes_max.load(std::memory_order_relaxed) / share);
  uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (used + bytes > bytes_max) {
      refused_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  note_peaks(used + bytes);
  return true;
}

void MemoryPool::take_anyway(uint64_t bytes) {
  note_peaks(used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void MemoryPool::note_peaks(uint64_t used) {
  raise(peak_, used);
  raise(peak_since_trim_, used);
}

void MemoryPool::give_back(uint64_t bytes) {
  const uint64_t used = used_.fetch_sub(bytes, std::memory_order_relaxed) - bytes;
  uint64_t peak = peak_since_trim_.load(std::memory_order_relaxed);
  if (peak < trim_above_bytes || used > peak / 4) return;
  // One thread alone does it.
  if (peak_since_trim_.compare_exchange_strong(peak, used, std::memory_order_relaxed)) base::give_back_all_freed_memory();
}

MemoryBudget::~MemoryBudget() {
  if (pool_ && taken_ > 0) pool_->give_back(taken_);
}

bool MemoryBudget::take(size_t bytes) {
  if (!pool_) {
    taken_ = held_ + step_bytes;
    return true;
  }
  const size_t wanted = (held_ + step_bytes - 1) / step_bytes * step_bytes;
  const int64_t operation_max = pool_->limits().operation_bytes_max.load(std::memory_order_relaxed);
  beyond_own_limit_ = held_ > static_cast<size_t>(operation_max);
  if (beyond_own_limit_ || !pool_->take(wanted - taken_)) {
    held_ -= bytes;
    return false;
  }
  taken_ = wanted;
  return true;
}

void MemoryBudget::refuse() const {
  const MemoryPool::Limits& limits = pool_->limits();
  const std::atomic<int64_t>& limit = beyond_own_limit_ ? limits.operation_bytes_max : limits.bytes_max;
  throw base::OperationError(base::ErrorCode::exceeded_memory_limit,
                             (beyond_own_limit_ ? "The operation" : "All operations together") +
                                 std::string(" would need more memory than the limit of ") + std::to_string(limit.load()) +
                                 " bytes");
}

void MemoryBudget::give_back() {
  const size_t wanted = (held_ + step_bytes - 1) / step_bytes * step_bytes;
  if (pool_) pool_->give_back(taken_ - wanted);
  taken_ = wanted;
}

}  // namespace server
