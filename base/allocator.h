// What malloc does with memory that was freed.
#pragma once

namespace base {

// For a process that shares its machine: freed memory soon goes back to the system. Without effect on another malloc
// than tcmalloc (a build with sanitizers). Call once, at start.
void give_back_freed_memory();

}  // namespace base
