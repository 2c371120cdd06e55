// A spill file keeps documents on disk while a stage has too many: they are
// written, rewound and read. The file has no name from the start, so it is removed
// with the process.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

#include "bson/document.h"

namespace server {
class OperationContext;
}

namespace storage {
class Engine;
}

namespace server::query {

class SpillFile {
 public:
  // The directory lies on the engine's disk. All functions throw OutOfDiskSpace and OperationFailed; `write` also does when the
  // disk is nearly full.
  SpillFile(const std::string& directory, storage::Engine& engine);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void write(const bson::Document& document);
  void rewind();
  std::optional<bson::Document> read();  // nullopt at the end

 private:
  storage::Engine& engine_;
  std::FILE* file_;
};

// Returns `_tmp` in the data directory, and makes it if it doesn't exist.
std::string spill_directory(const OperationContext& op);

}  // namespace server::query
