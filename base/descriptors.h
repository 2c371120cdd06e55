// A process that runs out of file descriptors can't write its files in order any more. So a part of them is kept free for what
// must go on.
#pragma once

namespace base {

// Returns whether fewer descriptors are free than are kept: a quarter of the process's limit, 64 at most. It makes three system
// calls. Thread-safe.
bool descriptors_are_short();

}  // namespace base
