// For tests: a directory that goes away, and engines on it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "storage/store.h"

namespace storage {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  // As the loss of the process would leave it: a copy taken while it is in use, of one moment between checkpoints.
  void copy_to(const TemporaryDirectory& target) const;

 private:
  std::string path_;
};

// Small caches and no waiting.
StoreOptions test_options(const std::string& path);

}  // namespace storage
