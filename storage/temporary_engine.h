// For tests: a directory that goes away, and engines on it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "storage/engine.h"

namespace storage {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::string& path() const { return path_; }
  // As a power cut would leave it, were every write of the process on the disk: a copy taken while it is in use.
  void copy_to(const TemporaryDirectory& target) const;

 private:
  std::string path_;
};

// Small caches and no waiting.
EngineOptions test_options(const std::string& path);

}  // namespace storage
