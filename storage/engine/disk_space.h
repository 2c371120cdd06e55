// The server stops taking in new data before the disk is full, so that everything else goes on.
//
// A reserve is kept: half of it is free space, the other half is the ballast (ballast.h), which no other program can take. It is
// what the journal's next files, the pages of a checkpoint, and the rows that a delete or a drop writes need. It is a share of
// the cache, because the cache bounds what a checkpoint has to write. What is in the cache and not yet on the disk counts as
// used, and so does what open transactions have yet to add to the journal. So a checkpoint may bring room: it writes that down,
// and removes the journal's old files. Who finds too little room waits for one. Deletes and drops do so where less than a quarter
// of the reserve would be left, and then go on, unless the room itself is too little.
//
//   room = free space + ballast          room above        who still writes
//                                        2 reserves        background work, index builds, spilling
//                                        1 reserve         new data
//                                        1/2               large rows of deletes and of updates that don't grow
//                                        1/8               small rows: every delete and drop writes them
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "storage/engine/ballast.h"

namespace storage {

// This is what a write is for. The first gives way first.
enum class DiskUse { background, growth, change, release };

// The uses are in an order: the less room there is, the more of the first ones are refused.
enum class DiskState { plenty, low, full, critical, exhausted };
std::string_view name_of(DiskState state);  // "plenty"

// Returns a sixteenth of the cache, 16 MB to 128 MB, but at most a sixteenth of a small disk.
uint64_t disk_reserve_bytes(uint64_t cache_bytes, uint64_t filesystem_bytes);
// Returns the size of the journal's files. At least four of them fit into the reserve.
uint64_t journal_file_bytes(uint64_t reserve_bytes);
// A use that was refused is allowed again only when there is a quarter more than it needs, or a quarter of a reserve more.
DiskState disk_state(uint64_t room_bytes, uint64_t reserve_bytes, DiskState before);
// Returns what the state will be at the least once all that is unwritten is on the disk, but "plenty" where that is growth's
// anyway, or little is unwritten.
DiskState disk_tightness(uint64_t room_bytes, uint64_t reserve_bytes, uint64_t unwritten_bytes);
// Returns whether so much of the cache is worth a checkpoint to writers that lack room.
bool worth_a_checkpoint(uint64_t bytes, uint64_t reserve_bytes);

struct DiskFigures {
  uint64_t filesystem_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t reserve_bytes = 0;
  uint64_t ballast_bytes = 0;
  uint64_t unwritten_bytes = 0;  // for the journal and the next checkpoint; 0 while there is so much room that nobody asks
  uint64_t refused = 0;          // operations
  uint64_t ballast_given_up = 0;
  DiskState state = DiskState::plenty;
};

// The class is thread-safe.
class DiskSpace {
 public:
  DiskSpace(const std::string& path, uint64_t cache_bytes);

  // Tells whether there is room for this use, and for what is unwritten as well.
  bool has_room(DiskUse use) const {
    return allows(use, state_) &&
           (use == DiskUse::release ? !release_waits_.load(std::memory_order_relaxed) : allows(use, tight_));
  }
  // Tells the same of a write that takes so many bytes on the disk. Few bytes cost no more than a load.
  bool has_room(DiskUse use, uint64_t bytes) { return has_room(use) && (bytes < look_every_bytes || fits(use, bytes)); }
  // Throws OutOfDiskSpace (14031) if there is no room for this use. For growth, what is unwritten must have room as well.
  void require(DiskUse use);
  void require(DiskUse use, uint64_t bytes);
  // Asks for room for a write that can't be refused for good (replayed_writes.h). Such a write may take half of the reserve,
  // whatever it is for.
  void require_for_replay(DiskUse use, uint64_t bytes = 0);
  // Tells whether a checkpoint would bring growth the room that it lacks.
  bool checkpoint_helps() const;

  // Counts the bytes that were written, and measures the free space again once they are many.
  void wrote(uint64_t bytes);
  // An open transaction has so many more bytes, or less, that the journal doesn't have yet.
  void add_unjournaled(int64_t bytes) { unjournaled_.fetch_add(bytes, std::memory_order_relaxed); }
  // A checkpoint was taken, or has failed.
  void checkpointed();
  // Measures. It is called at intervals, too: other programs need and free space.
  void look();
  // Sets a function that returns how many bytes the next checkpoint has to write.
  void ask_for_unwritten(std::function<uint64_t()> ask) {
    const base::MutexLock lock(looking_);
    unwritten_ = std::move(ask);
  }

  int64_t unjournaled_bytes() const { return unjournaled_.load(std::memory_order_relaxed); }
  uint64_t written_bytes() const { return written_.load(std::memory_order_relaxed); }
  uint64_t filesystem_bytes() const { return total_.load(std::memory_order_relaxed); }
  uint64_t reserve_bytes() const { return reserve_.load(std::memory_order_relaxed); }
  DiskState state() const { return state_.load(std::memory_order_relaxed); }
  DiskFigures figures() const;

 private:
  static constexpr uint64_t look_every_bytes = 2 << 20;

  static bool allows(DiskUse use, const std::atomic<DiskState>& state) {
    return static_cast<int>(use) >= static_cast<int>(state.load(std::memory_order_relaxed));
  }
  bool fits(DiskUse use, uint64_t bytes);
  void measure() REQUIRES(looking_);
  void move_to(DiskState state) REQUIRES(looking_);
  [[noreturn]] void refuse();

  const std::string path_;
  const uint64_t cache_bytes_;
  base::Mutex looking_;  // what is measured later counts
  std::function<uint64_t()> unwritten_ GUARDED_BY(looking_);
  std::atomic<uint64_t> written_{0};
  std::atomic<uint64_t> next_look_{0};
  std::atomic<uint64_t> total_{0};
  std::atomic<uint64_t> free_{0};
  std::atomic<uint64_t> reserve_{0};
  std::atomic<uint64_t> unwritten_bytes_{0};
  std::atomic<int64_t> unjournaled_{0};
  std::atomic<uint64_t> dirty_bytes_{0};          // what is unwritten without what is unjournaled
  uint64_t kept_dirty_ GUARDED_BY(looking_) = 0;  // checkpoints have left so much of it
  std::atomic<uint64_t> refused_{0};
  std::atomic<DiskState> state_{DiskState::plenty};
  std::atomic<DiskState> tight_{DiskState::plenty};  // disk_tightness
  std::atomic<bool> release_waits_{false};           // for a checkpoint
  Ballast ballast_;
};

}  // namespace storage
