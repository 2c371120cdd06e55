// After a crash WiredTiger replays the journal. A change whose page on disk is damaged can't be applied; WiredTiger would not
// open the directory then. The linker puts a function of this file in front of the replay (--wrap, storage/CMakeLists.txt): it
// keeps such changes aside (unapplied_rows.h), and the replay goes on with the others. WiredTiger's own files are not among this:
// their damage ends the start.
#pragma once

#include <functional>

#include "storage/engine/unapplied_rows.h"

namespace storage {

// While this lives, wiredtiger_open on this thread keeps changes in `rows`.
class DamagedReplay {
 public:
  explicit DamagedReplay(UnappliedRows& rows);
  ~DamagedReplay();
  DamagedReplay(const DamagedReplay&) = delete;
  DamagedReplay& operator=(const DamagedReplay&) = delete;
};

// Runs what WiredTiger's replay calls, and which no exception may leave: WiredTiger is in C. Returns its result, or one that ends
// the replay.
int replay_result(const std::function<int()>& work) noexcept;

}  // namespace storage
