// Looks at serverStatus now and then while a load runs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "datasets/replay/measured.h"

namespace datasets::replay {

struct Sample {
  double seconds = 0;     // since the watch began
  int64_t documents = 0;  // acknowledged to this client
  int64_t logical_bytes = 0;
  int64_t resident_bytes = 0;
  int64_t stored_bytes = 0;  // serverStatus().dedup.storedBytes, 0 without
  int64_t queued = 0;        // records waiting to be encoded
};

class ServerWatch {
 public:
  ServerWatch(const std::string& uri, const Measured& measured, double step_seconds = 0.5);
  ~ServerWatch();

  // Ends the watch; the samples, at most a thousand however long it took.
  std::vector<Sample> stop();

 private:
  void work(std::string uri);

  const Measured& measured_;
  double step_seconds_;
  std::mutex mutex_;
  std::condition_variable stopping_;
  bool stop_ = false;
  std::vector<Sample> samples_;
  std::thread thread_;
};

}  // namespace datasets::replay
