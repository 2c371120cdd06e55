// A wildcard index remembers on which paths its documents have, or had, arrays.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"

namespace storage {

// Thread-safe. Documents may name their fields as they like, so the paths are bounded: beyond a thousand of them every path
// counts as one with arrays.
class MultikeyPaths {
 public:
  static constexpr size_t paths_max = 1000;

  bool contains(std::string_view path) const;
  // Returns those that aren't known yet.
  std::vector<std::string> missing(const std::vector<std::string>& paths) const;
  // Returns whether so many more paths are too many.
  bool too_many(size_t more) const;
  void add(const std::vector<std::string>& paths);
  // From now on every path counts.
  void add_all();
  void add(const MultikeyPaths& others);

 private:
  mutable base::SharedMutex mutex_;
  std::set<std::string, std::less<>> paths_ GUARDED_BY(mutex_);
  bool all_ GUARDED_BY(mutex_) = false;
};

}  // namespace storage
