// Temporary folders and servers that were started must not outlive the process when it is
// interrupted.
#pragma once

#include <functional>
#include <list>

namespace bench {

// From now on SIGINT and SIGTERM run every registered action and end the process. Call it once.
void clean_up_when_interrupted();

// Registers an action for as long as the object lives; it runs on another thread. Thread-safe.
class AtInterrupt {
 public:
  explicit AtInterrupt(std::function<void()> action);
  ~AtInterrupt();
  AtInterrupt(const AtInterrupt&) = delete;

 private:
  std::list<std::function<void()>>::iterator place_;
};

}  // namespace bench
