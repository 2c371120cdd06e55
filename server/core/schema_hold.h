// A collection's schema lock, held shared by an operation: what serverStatus' globalLock and locks count, and lockInfo shows.
#pragma once

#include <shared_mutex>
#include <utility>

namespace server {

class OperationContext;

// Belongs to the operation's thread. The operation must live as long as the hold.
class SchemaHold {
 public:
  enum class Intent { read, write };

  SchemaHold() = default;
  // Waits for whoever changes the schema.
  SchemaHold(OperationContext& op, std::shared_mutex& mutex, Intent intent);
  ~SchemaHold() { release(); }
  SchemaHold(SchemaHold&& other) noexcept
      : op_(std::exchange(other.op_, nullptr)), intent_(other.intent_), lock_(std::move(other.lock_)) {}
  SchemaHold& operator=(SchemaHold&& other) noexcept;

  void release();

 private:
  OperationContext* op_ = nullptr;  // nullptr: holds nothing
  Intent intent_ = Intent::read;
  std::shared_lock<std::shared_mutex> lock_;
};

}  // namespace server
