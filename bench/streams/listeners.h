// Listeners are clients with a change stream each. One thread serves them all.
#pragma once

#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "bench/measure/clients.h"
#include "bench/streams/writes.h"

namespace bench::streams {

// everything: the collection that is written to; nothing: the same with a $match that no event meets; elsewhere: another
// collection.
enum class Listen { everything, nothing, elsewhere };

class Listeners {
 public:
  // Opens the streams. Events of writes from `first` on are expected.
  Listeners(const std::string& address, size_t count, Listen listen, const Writes& writes, size_t first);
  ~Listeners();
  Listeners(const Listeners&) = delete;

  // Waits until every stream has the events of all writes below `end`, and ends. Throws std::runtime_error if one misses an event
  // or has one twice, or nothing comes for long.
  void finish(size_t end);

  // Returns the latency from the acknowledgement of a write to its event, by write and stream. Call it after finish().
  Latency delays() const { return latency_of(std::vector<float>(delays_us_)); }
  uint64_t events() const { return delays_us_.size(); }

 private:
  void run();
  std::optional<bson::Document> step(size_t stream, const bson::DocumentView* reply);

  struct Stream {
    int64_t cursor = 0;
    std::vector<bool> seen;  // the writes whose events came, from first_ on; concurrent ones come in any order
    size_t events = 0;
  };

  Clients connections_;
  const Listen listen_;
  const Writes& writes_;
  const size_t first_;
  std::vector<Stream> streams_;
  std::vector<float> delays_us_;
  std::atomic<size_t> end_{SIZE_MAX};  // known once all writes were made
  std::atomic<Writes::Clock::rep> last_event_{0};
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace bench::streams
