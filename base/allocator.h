// The allocator setting says how malloc treats memory that was freed.
#pragma once

namespace base {

// Makes freed memory go back to the system soon, for a process that shares its machine. It has no effect on other mallocs than
// tcmalloc (a build with sanitizers has another). Call it once, at start.
void give_back_freed_memory();

// Gives back at once what was freed, as far as whole pages are free. It takes milliseconds a gigabyte. Thread-safe; the same
// restriction holds.
void give_back_all_freed_memory();

}  // namespace base
