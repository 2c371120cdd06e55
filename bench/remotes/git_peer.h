// A GitPeer does with git what the benchmark does with two servers: files are committed in one repository, and pushed to another
// one over git's own protocol. Each document is a file.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure/scratch.h"

namespace bench::remotes {

// This class is not thread-safe. Throws std::runtime_error where git isn't there or fails.
class GitPeer {
 public:
  explicit GitPeer(const std::string& scratch);

  using Files = std::vector<std::pair<std::string, std::string>>;  // paths and contents
  // A commit on main that writes these files.
  void commit(const Files& files);

  struct Pushed {
    double ms = 0;
    uint64_t bytes = 0;  // of the pack that goes over the line
  };
  Pushed push();
  // Fetches from the hub, which has nothing new.
  double fetch_ms();
  // The branches end at the same commit, or it throws.
  void check_same();

 private:
  std::string here() const { return folder_.path() + "/here"; }
  std::string hub() const { return folder_.path() + "/hub"; }

  Scratch folder_;
  uint64_t commits_ = 0;
  std::string pushed_;  // the commit that the hub has; empty: none
};

}  // namespace bench::remotes
