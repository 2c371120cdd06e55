// A member of a replica set can't refuse majority-committed writes. While an object of this class lives, the thread's writes may
// take half of the reserve, whatever they are for, and the first that finds less room gets OutOfDiskSpace at once: its caller
// ends the transaction, has a checkpoint taken, and waits.
#pragma once

#include "storage/engine/thread_mark.h"

namespace storage {

// Collections, indexes and branches ask for room in many places, and none of them knows whom it works for.
class ReplayedWrites : public ThreadMark<ReplayedWrites> {};

}  // namespace storage
