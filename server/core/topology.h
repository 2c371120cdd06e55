// Topology says what this server is in its deployment, and when that last changed;
// drivers watch it through hello's topologyVersion.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "base/mutex.h"
#include "bson/types.h"

namespace server {

// Thread-safe.
class Topology {
 public:
  // The id of this process: a client that knows another process's counter knows nothing of this one's.
  const bson::ObjectId& process_id() const { return process_id_; }
  int64_t counter() const;

  // Increments the counter and wakes everyone who waits.
  void changed();

  // `wake` is called once, from the thread that changes the topology, unless the caller withdraws it before by the returned
  // number.
  uint64_t on_change(std::function<void()> wake);
  void forget(uint64_t subscription);
  size_t waiting() const;

 private:
  const bson::ObjectId process_id_ = bson::ObjectId::generate();
  mutable base::Mutex mutex_;
  int64_t counter_ GUARDED_BY(mutex_) = 0;
  uint64_t last_subscription_ GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, std::function<void()>> waiting_ GUARDED_BY(mutex_);
};

}  // namespace server
