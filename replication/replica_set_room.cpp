// A full disk holds up majority-committed writes: they are applied when there is room, and none is skipped. Reads go on, and so
// does consensus, in which another member should lead meanwhile.
#include <chrono>

#include "base/clock_time.h"
#include "base/log.h"
#include "replication/replica_set.h"
#include "storage/engine/replayed_writes.h"
#include "storage/engine/room.h"
#include "storage/store.h"

namespace replication {

using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;

namespace {

constexpr auto room_pause = std::chrono::milliseconds(200);
// A record is tried again after this time, too, though the state of the disk is the same.
constexpr auto try_again = std::chrono::seconds(10);

}  // namespace

bool ReplicaSet::replay(const std::vector<LogRecord>& records) {
  if (storage::checkpoint_brings_room(store_)) storage::make_room_for_replay(store_);
  for (bool first = true;; first = false) {
    try {
      const storage::ReplayedWrites replayed;
      adopt_logged_configs(records, false);
      applier_.apply(records);
      break;
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::out_of_disk_space) throw;
      if (!await_room(error.what(), first)) return false;
    }
  }
  if (apply_waits_.exchange(false)) have_room();
  adopt_logged_configs(records, true);
  return true;
}

// Returns false if this member ends.
bool ReplicaSet::await_room(const std::string& refusal, bool first) {
  const storage::DiskState refused_in = storage::disk_figures(store_).state;
  if (first) {
    storage::make_room_for_replay(store_);
    if (storage::has_room_for_replay(store_)) return true;
  }
  apply_waits_ = true;
  lack_room(refusal);
  const auto until = base::now(clock_) + try_again;
  base::MutexLock lock(apply_mutex_);
  while (!apply_stopping_) {
    to_apply_woken_.wait_for(lock, room_pause);
    if (storage::disk_figures(store_).state < refused_in || base::now(clock_) >= until) return true;
  }
  return false;
}

void ReplicaSet::lack_room(const std::string& refusal) {
  const base::MutexLock lock(mutex_);
  if (machine_.lacks_room()) return;
  machine_.lack_room(true);
  if (node_) tell_electable();
  base::log(Severity::warning, LogComponent::repl, 7100053,
            "The disk has no room for majority-committed writes, which wait for room", Attributes().add("error", refusal));
}

void ReplicaSet::have_room() {
  const base::MutexLock lock(mutex_);
  if (!machine_.lacks_room()) return;
  machine_.lack_room(false);
  if (node_) tell_electable();
  base::log(Severity::info, LogComponent::repl, 7100054, "The disk has room again for majority-committed writes", Attributes());
}

// A duty has found the disk full. Entries that wait see for themselves that there is room, and so does the log.
void ReplicaSet::look_for_room() {
  {
    const base::MutexLock lock(mutex_);
    const bool exhausted = storage::disk_figures(store_).state == storage::DiskState::exhausted;
    if (machine_.lack_all_room(exhausted || node_->waits_for_room())) tell_electable();
    if (!machine_.lacks_room()) return;
  }
  if (!apply_waits_ && storage::has_room_for_replay(store_)) have_room();
}

}  // namespace replication
