// Delayed lines do what `tc netem delay` does, where the kernel has no netem: packets between hosts wait in this process until
// they are due.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace bench {

class DelayedLines {
 public:
  static constexpr const char* device = "lines";  // the devices of all hosts, still without an address

  // Makes a device in every host's namespace, named by a process in it, 0 for this one's own. Throws std::runtime_error.
  explicit DelayedLines(const std::vector<pid_t>& hosts);
  ~DelayedLines();
  DelayedLines(const DelayedLines&) = delete;

  // Sets the delay of packets that are sent from now on. Thread-safe.
  void set(double ms) { delay_us_ = static_cast<int64_t>(ms * 1000); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Packet {
    Clock::time_point due;
    int to;
    std::string bytes;
  };

  void take(int from);
  void deliver();

  std::vector<int> devices_;  // by the last byte of the address, less one
  std::atomic<int64_t> delay_us_{0};
  std::atomic<bool> stopping_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Packet> packets_;  // by time, because all have one delay
  std::vector<std::thread> threads_;
};

}  // namespace bench
