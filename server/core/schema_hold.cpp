#include "server/core/schema_hold.h"

#include "base/clock.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

// One thread writes the counter; others only read it.
void add(std::atomic<int32_t>& value, int32_t amount) {
  value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

base::SharedHold wait(OperationContext& op, base::InterruptibleMutex& mutex, bool reads, Metrics::Locks::Mode& counted) {
  std::atomic<int32_t>& waiting = reads ? op.locks.waiting_to_read : op.locks.waiting_to_write;
  const base::Clock& clock = op.services().clock;
  const int64_t begun_us = clock.monotonic_us();
  const auto end = [&] {
    add(waiting, -1);
    counted.waited.add();
    counted.waited_us.add(clock.monotonic_us() - begun_us);
  };
  add(waiting, 1);
  try {
    base::SharedHold hold = base::hold_shared(mutex, op.interrupted());
    end();
    return hold;
  } catch (...) {
    end();
    throw;
  }
}

}  // namespace

SchemaHold::SchemaHold(OperationContext& op, base::InterruptibleMutex& mutex, Intent intent)
    : op_(&op), intent_(intent), lock_(mutex, std::try_to_lock) {
  const bool reads = intent == Intent::read;
  Metrics::Locks& locks = op.services().metrics.locks;
  Metrics::Locks::Mode& counted = reads ? locks.read : locks.write;
  if (!lock_) lock_ = wait(op, mutex, reads, counted);
  counted.acquired.add();
  add(reads ? op.locks.reading : op.locks.writing, 1);
}

SchemaHold& SchemaHold::operator=(SchemaHold&& other) noexcept {
  if (this == &other) return *this;
  release();
  op_ = std::exchange(other.op_, nullptr);
  intent_ = other.intent_;
  lock_ = std::move(other.lock_);
  return *this;
}

void SchemaHold::release() {
  if (!op_) return;
  add(intent_ == Intent::read ? op_->locks.reading : op_->locks.writing, -1);
  op_ = nullptr;
  lock_.unlock();
}

}  // namespace server
