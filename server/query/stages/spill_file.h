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

namespace server::query {

class SpillFile {
 public:
  // Throws OutOfDiskSpace, OperationFailed.
  explicit SpillFile(const std::string& directory);
  ~SpillFile();
  SpillFile(const SpillFile&) = delete;
  SpillFile& operator=(const SpillFile&) = delete;

  void write(const bson::Document& document);
  void rewind();
  std::optional<bson::Document> read();  // nullopt at the end

 private:
  std::FILE* file_;
};

// Returns `_tmp` in the data directory, and makes it if it doesn't exist.
std::string spill_directory(const OperationContext& op);

}  // namespace server::query
