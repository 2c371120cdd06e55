// A deadline of what a connection does: the work given to it runs when the time is over, unless the deadline ends or begins
// anew before. Internal to the transport. It is used on its executor alone, and whatever it lives in must outlive the work.
#pragma once

#include <asio/any_io_executor.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <utility>

namespace replication::consensus {

class Deadline {
 public:
  explicit Deadline(const asio::any_io_executor& executor) : timer_(executor) {}

  template <class Late>
  void begin(std::chrono::milliseconds within, Late late) {
    timer_.expires_after(within);
    timer_.async_wait([this, number = ++number_, late = std::move(late)](const asio::error_code& error) mutable {
      // A timer that has run out already can't be stopped any more; its number tells that it is an old one.
      if (!error && number == number_) late();
    });
  }
  void end() {
    ++number_;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  uint64_t number_ = 0;
};

}  // namespace replication::consensus
