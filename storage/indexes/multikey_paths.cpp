#include "storage/indexes/multikey_paths.h"

namespace storage {

bool MultikeyPaths::contains(std::string_view path) const {
  const base::ReaderLock lock(mutex_);
  return all_ || paths_.contains(path);
}

std::vector<std::string> MultikeyPaths::missing(const std::vector<std::string>& paths) const {
  std::vector<std::string> missing;
  const base::ReaderLock lock(mutex_);
  if (all_) return missing;
  for (const std::string& path : paths) {
    if (!paths_.contains(path)) missing.push_back(path);
  }
  return missing;
}

bool MultikeyPaths::too_many(size_t more) const {
  const base::ReaderLock lock(mutex_);
  return paths_.size() + more > paths_max;
}

void MultikeyPaths::add(const std::vector<std::string>& paths) {
  const base::WriterLock lock(mutex_);
  if (!all_) paths_.insert(paths.begin(), paths.end());
}

void MultikeyPaths::add_all() {
  const base::WriterLock lock(mutex_);
  all_ = true;
  paths_.clear();
}

void MultikeyPaths::add(const MultikeyPaths& others) {
  std::vector<std::string> paths;
  bool all = false;
  {
    const base::ReaderLock lock(others.mutex_);
    paths.assign(others.paths_.begin(), others.paths_.end());
    all = others.all_;
  }
  all ? add_all() : add(paths);
}

}  // namespace storage
