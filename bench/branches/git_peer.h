// git serves as a versioned store of records (Decibel §5.7): with one file, or with a file a record.
#pragma once

#include <string>

namespace bench::branches {

struct GitFigures {
  double commit_ms = 0, checkout_ms = 0;  // CPU time of git's processes, the mean
  double raw_mb = 0, loose_mb = 0, packed_mb = 0;
};

// Inserts `records` over `commits` commits, a share of them updates; then checks every tenth commit out. Throws
// std::runtime_error where git isn't there or fails.
GitFigures run_git(const std::string& folder, size_t records, size_t commits, double updates, bool file_a_record);

}  // namespace bench::branches
