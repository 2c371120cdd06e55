// A thread of its own takes checkpoints: every so many seconds, and sooner when much was written. So the journal that a restart
// has to replay stays short.
#pragma once

#include <functional>
#include <shared_mutex>
#include <thread>

#include "base/clock.h"
#include "base/counters.h"
#include "base/mutex.h"
#include "storage/engine/disk_space.h"
#include "storage/engine/wt.h"

namespace storage {

// The class is thread-safe.
class Checkpointer {
 public:
  // `around` is called for each checkpoint. It calls `take`, which takes the checkpoint, and does before and after it what
  // belongs there.
  using Around = std::function<void(const std::function<void()>& take)>;
  // `asks` is called several times a second, and returns whether it wants a checkpoint.
  Checkpointer(base::Clock& clock, wt::Connection& connection, DiskSpace& space, int seconds, Around around,
               std::function<bool()> asks = {});
  ~Checkpointer() { stop(); }

  // Takes a checkpoint now; throws the error that prevents it.
  void checkpoint();
  // Has a checkpoint taken on the checkpointer's thread to make room on the disk for such writes, and waits until it has, or has
  // failed to. The wait is one of the interruptible ones. The caller may be inside a transaction, but must not hold the lock of
  // `between_checkpoints`.
  void make_room(DiskUse use);
  // No checkpoint is taken as long as the caller holds the returned lock; the call waits for a checkpoint that is being taken.
  // Background work that changes many rows uses it: when rows are overwritten during a checkpoint, the engine copies the old ones
  // to its history file, whose space isn't given back.
  std::shared_lock<std::shared_mutex> between_checkpoints() { return std::shared_lock(taking_); }
  void stop();

  int64_t count() const { return count_.get(); }
  int64_t last_ms() const { return last_ms_.get(); }

 private:
  void take();
  void copy_metadata();
  void run(int seconds);
  bool is_asked();
  bool journal_is_long(uint64_t written) const;
  void wait_for_room(DiskUse use);

  static constexpr uint64_t written_bytes_max = 1ull << 30;

  base::Clock& clock_;
  wt::Connection& connection_;
  DiskSpace& space_;
  const Around around_;
  const std::function<bool()> asks_;
  bool asks_failed_ = false;  // the thread's
  // It is held while a checkpoint is taken, or shared by those who keep it from beginning. It is a standard one, since
  // between_checkpoints() gives its lock away, and what it guards is no field, but the files of WiredTiger.
  std::shared_mutex taking_;
  base::Mutex mutex_;
  base::Condition woken_;
  base::Condition made_room_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  uint64_t room_wanted_ GUARDED_BY(mutex_) = 0;  // the checkpoint with this number is wanted; the thread counts its own
  DiskUse room_use_ GUARDED_BY(mutex_) = DiskUse::release;  // of those who wait, the one that needs the most room
  uint64_t begun_ GUARDED_BY(mutex_) = 0;
  uint64_t ended_ GUARDED_BY(mutex_) = 0;
  base::Counter count_;
  base::Counter last_ms_;
  std::thread thread_;
};

}  // namespace storage
