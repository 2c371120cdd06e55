// A checkpoint that can't write a page ends the process, like a journal that can't be written. While an object of this class
// lives, the thread's writes may use the ballast to its end.
#pragma once

#include "storage/engine/thread_mark.h"

namespace storage {

// WiredTiger's calls on the way to the disk carry nothing of the caller's, so it is the thread that knows.
class EssentialWrites : public ThreadMark<EssentialWrites> {};

}  // namespace storage
