// Moments whose past is kept: a snapshot is a stamp, and shows every write that was stamped before it.
//
// A writer asks, once it has its own stamp, which snapshot is the newest before it. One that is being declared gets its stamp
// while writers are told to wait for it: none that was stamped later misses it.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "storage/engine/record_id.h"

namespace storage {

// Thread-safe.
class DeclaredSnapshots {
 public:
  // The newest that is left; 0: there is none.
  Stamp newest_before(Stamp write) const {
    if (declaring_.load() == 0) [[likely]] {
      const Stamp newest = newest_.load();
      if (newest < write) return newest;
    }
    return look(write);
  }
  // The same with those that were dropped: what is said of the past goes under it, in the order of writes.
  Stamp position_before(Stamp write) const;
  // With the stamp that `take` takes.
  Stamp declare(const std::function<Stamp()>& take);
  void add(Stamp snapshot);
  void add_dropped(Stamp snapshot);
  // Writers that were stamped before may still keep something for it.
  void remove(Stamp snapshot);
  void clear();
  std::vector<Stamp> all() const;  // sorted

 private:
  Stamp look(Stamp write) const;

  std::atomic<Stamp> newest_{0};
  std::atomic<int> declaring_{0};
  mutable std::mutex mutex_;
  std::vector<Stamp> left_;  // sorted
  std::vector<Stamp> ever_;  // sorted; old ones that were dropped are forgotten
};

}  // namespace storage
