// A member of a replica set can't refuse what the set has agreed on. While an object of this class lives, the thread's writes may
// take half of the reserve, whatever they are for, and the first that finds less room gets OutOfDiskSpace at once: its caller
// ends the transaction, has a checkpoint taken, and waits.
#pragma once

namespace storage {

class ReplayedWrites {
 public:
  ReplayedWrites() { ++nested(); }
  ~ReplayedWrites() { --nested(); }
  ReplayedWrites(const ReplayedWrites&) = delete;
  ReplayedWrites& operator=(const ReplayedWrites&) = delete;

  // Returns whether the calling thread has one.
  static bool here() { return nested() > 0; }

 private:
  // Collections, indexes and branches ask for room in many places, and none of them knows whom it works for.
  static int& nested() {
    thread_local int count = 0;
    return count;
  }
};

}  // namespace storage
