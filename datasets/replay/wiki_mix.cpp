#include "datasets/replay/wiki_mix.h"

#include <chrono>
#include <thread>
#include <vector>

#include "bson/builder.h"
#include "datasets/replay/client.h"

namespace datasets::replay {

void WikiMix::run(uint64_t operations, const std::function<bool()>& write_next) {
  left_ = static_cast<int64_t>(operations);
  std::vector<std::thread> threads;
  for (int i = 0; i < std::max(1, options_.connections); ++i) {
    threads.emplace_back([&] {
      try {
        work(write_next);
      } catch (...) {
        left_ = 0;
        const base::MutexLock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const base::MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

void WikiMix::work(const std::function<bool()>& write_next) {
  Client client(options_.uri);
  while (left_.fetch_sub(1) > 0) {
    std::string collection;
    bson::Document filter;
    {
      const base::MutexLock lock(mutex_);
      if (more_ && popularity_.next_is_write()) {
        more_ = write_next();
        if (more_) continue;
      }
      const auto wanted = popularity_.next_read();
      if (!wanted) return;
      collection = std::string(wanted->collection);
      bson::Builder builder;
      builder.append("_id", wanted->id);
      filter = builder.done();
    }
    const auto begun = std::chrono::steady_clock::now();
    const uint64_t found = client.find(options_.db, collection, filter, bson::Document(), [](bson::DocumentView) {});
    const auto took = std::chrono::steady_clock::now() - begun;
    measured_.read_us.record(static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(took).count()));
    measured_.reads.add();
    measured_.documents_read.add(static_cast<int64_t>(found));
    if (found != 1) measured_.reads_wrong.add();
  }
}

}  // namespace datasets::replay
