// A task is one kind of background work. The scheduler (scheduler.h) runs a list of tasks, the most urgent first.
#pragma once

#include "storage/background/write_burst.h"

namespace storage {

// The scheduler tells this to each task in a round over the list.
struct Round {
  bool draining = false;  // Somebody waits until nothing is left to encode or to write back.
  bool tidying = false;   // Somebody waits until nothing is left to pack or to compact.
  bool idle = false;      // No client has written for so long that its burst is over (WriteBurst).
  bool quiet = false;     // No client has written for two seconds.
  bool room = true;       // The disk has room for background work.
};

// One thread calls `step` and `finish`; any thread may call the others.
class Task {
 public:
  virtual ~Task() = default;

  // This function does a bounded piece of work. It returns false when there was nothing to do, so that less urgent tasks get
  // their turn. An exception puts the work off: the next round comes after a second.
  virtual bool step(const Round& round) = 0;
  // The scheduler calls this function when it stops, on each task in the order of the list.
  virtual void finish() {}

  // A task that writes new rows gets no turn while the disk is nearly full. A task that mostly frees space, or writes a few rows
  // that others wait for, returns false.
  virtual bool needs_room() const { return true; }

  // A step of a task that stores contents in another way waits until no draft is open (engine/drafts.h), and drafts wait for it.
  // A task that only reads contents, or encodes them in memory, returns false.
  virtual bool moves_contents() const { return true; }

  // These functions must be cheap, and must not call the scheduler.
  virtual WriteBurst::Waiting waiting() const { return {}; }  // This is what clients have left for the task.
  virtual bool awaited() const { return false; }              // Somebody waits for the task, so the thread must not rest.
};

}  // namespace storage
