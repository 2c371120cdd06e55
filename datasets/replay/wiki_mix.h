// The wiki trace consists of reads by popularity, and now and then a write.
#pragma once

#include <atomic>
#include <functional>

#include "base/mutex.h"
#include "datasets/replay/measured.h"
#include "datasets/replay/trace.h"
#include "datasets/replay/writer.h"

namespace datasets::replay {

class WikiMix {
 public:
  WikiMix(const WriterOptions& options, Popularity& popularity, Measured& measured)
      : options_(options), popularity_(popularity), measured_(measured) {}

  // `write_next` writes one more revision and returns false when there is none;
  // it is called by one thread at a time. Throws what fails on a connection.
  void run(uint64_t operations, const std::function<bool()>& write_next);

 private:
  void work(const std::function<bool()>& write_next);

  const WriterOptions& options_;
  Popularity& popularity_;
  Measured& measured_;
  base::Mutex mutex_;
  std::atomic<int64_t> left_{0};
  bool more_ GUARDED_BY(mutex_) = true;  // to write
  std::exception_ptr failure_ GUARDED_BY(mutex_);
};

}  // namespace datasets::replay
