// RepeatedFailures gathers the failures of work that is tried again and again, so that one line a minute tells of them.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace base {

// Not thread-safe.
class RepeatedFailures {
 public:
  struct Gathered {
    std::string first;  // the first one's error
    int64_t times = 0;
  };
  void add(const std::exception& error);
  // Returns the failures since the last call that returned some. nullopt: there are none, or that call is less than a minute ago.
  // `now_us` is the monotonic time.
  std::optional<Gathered> take_due(int64_t now_us);

 private:
  Gathered gathered_;
  std::optional<int64_t> taken_us_;
};

}  // namespace base
