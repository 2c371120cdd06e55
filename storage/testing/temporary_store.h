// This file gives tests a directory that is removed at the end, and the options of stores on it.
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
  // This function copies the directory as a loss of the process would leave it. The directory may be in use; all copied files are
  // from one moment between checkpoints.
  void copy_to(const TemporaryDirectory& target) const;

 private:
  std::string path_;
};

// These options have small caches, no waiting, and the machine's clock.
StoreOptions test_options(const std::string& path);

}  // namespace storage
