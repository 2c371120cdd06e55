// Samples serverStatus while a load runs: often at first, and then less and less, so that loads of a second and of a day have
// a curve each.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "datasets/replay/measured.h"

namespace datasets::replay {

struct Sample {
  double seconds = 0;     // since the watch began
  int64_t documents = 0;  // acknowledged to this client
  int64_t logical_bytes = 0;
  int64_t resident_bytes = 0;
  int64_t stored_bytes = 0;  // serverStatus().dedup.storedBytes, 0 without
  int64_t queued = 0;        // records waiting to be encoded
  int64_t inserts = 0;       // insert commands since the beginning
  int64_t insert_us = 0;     // all that these took
  int64_t slowest_us = 0;    // the slowest of those since the sample before
};

class Client;

class ServerWatch {
 public:
  // Takes the first sample, for 0 seconds, before it returns, so the load begins after it. `measured` must outlive the watch.
  ServerWatch(const std::string& uri, Measured& measured);
  ~ServerWatch();

  // Takes a last sample and ends the watch. Returns the samples in order of
  // time, at most a thousand however long it took; none when the server can't
  // be reached.
  std::vector<Sample> stop();

 private:
  void work(const std::string& uri);
  void let_begin();
  Sample sample(Client& client, double seconds) const;

  Measured& measured_;
  base::Mutex mutex_;
  base::Condition stopping_;
  base::Condition begun_;
  bool may_begin_ GUARDED_BY(mutex_) = false;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::vector<Sample> samples_;  // the thread's, until it has ended
  std::thread thread_;
};

}  // namespace datasets::replay
