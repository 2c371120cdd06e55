#include "base/descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace base {

// The kernel gives out the lowest number that is free. Where many are open, the next number says how many.
bool descriptors_are_short() {
  constexpr rlim_t kept_max = 64;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (next < 0) return true;
  ::close(next);
  return static_cast<rlim_t>(next) >= limit.rlim_cur - std::min(limit.rlim_cur / 4, kept_max);
}

}  // namespace base
