// A replay counts here while it runs. Any thread may add, and any may read.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/counters.h"

namespace datasets::replay {

// The largest of the values that were recorded since the last look at it. Thread-safe.
class Largest {
 public:
  void record(uint64_t value) {
    for (uint64_t seen = value_.load(std::memory_order_relaxed);
         seen < value && !value_.compare_exchange_weak(seen, value, std::memory_order_relaxed);) {
    }
  }
  uint64_t take() { return value_.exchange(0, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

struct Measured {
  base::Counter documents;  // inserts acknowledged
  base::Counter replaced;
  base::Counter removed;
  base::Counter failed;          // refused one by one (duplicate keys)
  base::Counter logical_bytes;   // of the documents inserted or put in place of others
  base::Counter text_bytes;      // of their body texts alone
  base::Counter reads;           // by the trace
  base::Counter documents_read;  // documents that the reads returned
  base::Counter reads_wrong;     // came back as something else than was written
  base::Histogram insert_us;     // one insert command, however many documents it carries
  base::Histogram read_us;
  Largest slowest_insert_us;  // the watch takes it with each sample
};

}  // namespace datasets::replay
