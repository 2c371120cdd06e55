// Prefetching asks for memory ahead of its use.
#pragma once

#include <algorithm>

#include "base/bytes.h"

namespace base {

// Asks for the first of the bytes ahead of their use; the processor fetches the rest of a long run by itself.
inline void prefetch(BytesView bytes) {
  constexpr size_t line = 64, lines_max = 16;
  const size_t length = std::min(bytes.size(), line * lines_max);
  for (size_t at = 0; at < length; at += line) __builtin_prefetch(bytes.data() + at);
}

}  // namespace base
