// What this server is in its deployment, and when that last changed: drivers
// watch it through hello's topologyVersion.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

#include "bson/types.h"

namespace server {

// Thread-safe.
class Topology {
 public:
  // Of this process: a client that knows another one's knows nothing of this.
  const bson::ObjectId& process_id() const { return process_id_; }
  int64_t counter() const;

  // Moves the counter on and tells everyone who waits.
  void changed();

  // `wake` is called once, from the thread that changes things, unless it was
  // taken back before. The returned number takes it back.
  uint64_t on_change(std::function<void()> wake);
  void forget(uint64_t subscription);
  size_t waiting() const;

 private:
  const bson::ObjectId process_id_ = bson::ObjectId::generate();
  mutable std::mutex mutex_;
  int64_t counter_ = 0;
  uint64_t last_subscription_ = 0;
  std::map<uint64_t, std::function<void()>> waiting_;
};

}  // namespace server
