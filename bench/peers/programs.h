// Other programs get the same bytes: git makes a pack of a workload, and zstd compresses it with a long
// window.
#pragma once

#include <string>

#include "bench/data/workload.h"

namespace bench {

// Runs git gc --aggressive (window 250, depth 50, zlib 9); every record is a blob at a path named after its group. Returns the
// blobs' own bytes in the pack, without trees, commits and index. Throws std::runtime_error where git isn't there or fails.
// `folder` is made and removed again.
uint64_t git_pack(const Workload& workload, const std::string& folder);

// Sends the records end to end through `zstd -LEVEL --long=31`, with one thread.
uint64_t zstd_long(const Workload& workload, int level);

// Returns the first lines of their --version.
std::string git_version();
std::string zstd_version();

}  // namespace bench
