#include "base/random.h"

#include <sys/random.h>

#include "base/error.h"

namespace base {

uint64_t entropy64() {
  uint64_t value = 0;
  check(getrandom(&value, sizeof value, 0) == sizeof value, "getrandom");
  return value;
}

}  // namespace base
