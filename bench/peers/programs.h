// Other programs on the same bytes: what git's pack and zstd with a long window
// make of a workload.
#pragma once

#include <string>

#include "bench/data/workload.h"

namespace bench {

// git gc --aggressive (window 250, depth 50, zlib 9): every record a blob at a path named after its group.
// The blobs' own bytes in the pack, without trees, commits and index. Throws std::runtime_error where git
// isn't there or fails. `folder` is made and removed again.
uint64_t git_pack(const Workload& workload, const std::string& folder);

// The records end to end through `zstd -LEVEL --long=31`, one thread.
uint64_t zstd_long(const Workload& workload, int level);

// First lines of their --version.
std::string git_version();
std::string zstd_version();

}  // namespace bench
