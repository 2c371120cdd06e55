// A ProgressBar shows how far a long step is, in one line on stderr. It appears after two seconds, and only on a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace client {

class ProgressBar {
 public:
  // `what` names the step: "copying". `bytes`: the numbers are bytes.
  ProgressBar(std::string what, bool bytes);
  ~ProgressBar();  // clears the line
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // May be called as often as the caller likes. `total` 0: it isn't known.
  void show(uint64_t done, uint64_t total);

 private:
  using Clock = std::chrono::steady_clock;
  const std::string what_;
  const bool bytes_, terminal_;
  const Clock::time_point begun_ = Clock::now();
  Clock::time_point next_ = begun_ + std::chrono::seconds(2);
  bool shown_ = false;
};

// Returns the line without the bar's colours or movements: "copying [#####.....] 50 %, 1.00 GB of 2.00 GB, 0:30 left".
std::string progress_line(const std::string& what, bool bytes, uint64_t done, uint64_t total, double seconds);

}  // namespace client
