// A SchemaHold is a collection's schema lock that an operation holds shared. serverStatus counts them in globalLock and locks,
// and lockInfo shows them.
#pragma once

#include <utility>

#include "base/interruptible_mutex.h"

namespace server {

class OperationContext;

// A hold belongs to the operation's thread. The operation must live as long as the hold.
class SchemaHold {
 public:
  enum class Intent { read, write };

  SchemaHold() = default;
  // Waits for an operation that changes the schema, until this one is interrupted.
  SchemaHold(OperationContext& op, base::InterruptibleMutex& mutex, Intent intent);
  ~SchemaHold() { release(); }
  SchemaHold(SchemaHold&& other) noexcept
      : op_(std::exchange(other.op_, nullptr)), intent_(other.intent_), lock_(std::move(other.lock_)) {}
  SchemaHold& operator=(SchemaHold&& other) noexcept;

  void release();

 private:
  OperationContext* op_ = nullptr;  // nullptr: it holds nothing
  Intent intent_ = Intent::read;
  base::SharedHold lock_;
};

}  // namespace server
