// What must not outlive the process when it is interrupted: temporary folders,
// servers that were started.
#pragma once

#include <functional>
#include <list>

namespace bench {

// From now on SIGINT and SIGTERM end the process by way of everything registered. Call once.
void clean_up_when_interrupted();

// An action for as long as the object lives; run on another thread. Thread-safe.
class AtInterrupt {
 public:
  explicit AtInterrupt(std::function<void()> action);
  ~AtInterrupt();
  AtInterrupt(const AtInterrupt&) = delete;

 private:
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace bench
