#include "base/allocator.h"

#ifdef PALIMPSEST_TCMALLOC
#include <gperftools/malloc_extension.h>
#endif

namespace base {

void give_back_freed_memory() {
#ifdef PALIMPSEST_TCMALLOC
  // At tcmalloc's own rate, 1, pages of half a megabyte leave memory behind that isn't returned: 460 to 480 MB are resident with
  // a cache of 256 MB, against 410 MB here, and inserts are as fast.
  constexpr double release_rate = 100;
  MallocExtension::instance()->SetMemoryReleaseRate(release_rate);
#endif
}

void give_back_all_freed_memory() {
#ifdef PALIMPSEST_TCMALLOC
  MallocExtension::instance()->ReleaseFreeMemory();
#endif
}

}  // namespace base
