// A background thread's operation, where whoever stops the thread finds it.
#pragma once

#include <mutex>

namespace server {
class OperationContext;
}

namespace server::write {

class RunningOperation {
 public:
  RunningOperation(std::mutex& mutex, OperationContext*& place, OperationContext& op) : mutex_(mutex), place_(place) { set(&op); }
  ~RunningOperation() { set(nullptr); }
  RunningOperation(const RunningOperation&) = delete;
  RunningOperation& operator=(const RunningOperation&) = delete;

 private:
  void set(OperationContext* op) {
    const std::lock_guard lock(mutex_);
    place_ = op;
  }
  std::mutex& mutex_;
  OperationContext*& place_;
};

}  // namespace server::write
