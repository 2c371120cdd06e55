#include "base/clock.h"

#include <chrono>

namespace base {
namespace {

class SystemClock final : public Clock {
 public:
  int64_t wall_ms() const override {
    using namespace std::chrono;
    return duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  int64_t monotonic_us() const override {
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
  }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

}  // namespace base
