// Progress shows how far a load is: in one line that is rewritten on a terminal, in a line every few seconds
// elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace datasets::replay {

class Progress {
 public:
  explicit Progress(bool quiet);

  // May be called as often as the caller likes; it prints when it is time to.
  void show(uint64_t documents, uint64_t bytes, double fraction);
  // Prints a line of its own: a step that begins, or a result.
  void say(const std::string& line);

 private:
  void clear();

  using Clock = std::chrono::steady_clock;
  bool quiet_;
  bool terminal_;
  bool shown_ = false;
  Clock::time_point begun_ = Clock::now();
  Clock::time_point next_;
};

// These write "12,345", "1.40 GB", and "7.25 s" or "1:05".
std::string grouped(uint64_t number);
std::string bytes_text(double bytes);
std::string duration_text(double seconds);

}  // namespace datasets::replay
