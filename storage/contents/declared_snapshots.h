// DeclaredSnapshots lists the moments whose past is kept. A snapshot is a timestamp, and shows every write with a smaller
// timestamp.
// Once a writer has its own timestamp, it asks for the newest snapshot before it. While a snapshot is being declared, writers
// wait until it has its timestamp; so no writer with a later timestamp misses it.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "base/mutex.h"
#include "storage/engine/record_id.h"

namespace storage {

// This class is thread-safe.
class DeclaredSnapshots {
 public:
  // Returns the newest snapshot before `write` that wasn't dropped; 0: there is none.
  Stamp newest_before(Stamp write) const {
    if (declaring_.load() == 0) [[likely]] {
      const Stamp newest = newest_.load();
      if (newest < write) return newest;
    }
    return look(write);
  }
  // Counts dropped snapshots, too. Notes about the past are stored under this position, in the order of writes.
  Stamp position_before(Stamp write) const;
  // Declares a snapshot with the timestamp that `take` returns.
  Stamp declare(const std::function<Stamp()>& take);
  void add(Stamp snapshot);
  void add_dropped(Stamp snapshot);
  // Writers with earlier timestamps may still keep something for a removed snapshot.
  void remove(Stamp snapshot);
  void clear();
  std::vector<Stamp> all() const;  // sorted

 private:
  Stamp look(Stamp write) const;

  std::atomic<Stamp> newest_{0};
  std::atomic<int> declaring_{0};
  mutable base::Mutex mutex_;
  std::vector<Stamp> left_ GUARDED_BY(mutex_);  // sorted
  std::vector<Stamp> ever_ GUARDED_BY(mutex_);  // sorted; old dropped ones are forgotten
};

}  // namespace storage
