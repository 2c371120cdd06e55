// A sort that doesn't fit into memory writes sorted runs to disk, and merges them as they are read.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "server/query/exec/sort.h"

namespace storage {
class Engine;
}

namespace server::query::exec {

// Its files are removed with it.
class SortRuns {
 public:
  // The directory lies on the engine's disk.
  SortRuns(std::string directory, storage::Engine& engine) : directory_(std::move(directory)), engine_(engine) {}
  ~SortRuns();

  // Writes one run. Throws OutOfDiskSpace if that fails, or if the disk is nearly full.
  void add(const std::vector<SortEntry>& sorted);
  // Call it after the last add(): it returns the next entry over all runs; false at the end.
  bool next(SortEntry& entry);

  size_t count() const { return runs_.size(); }
  int64_t bytes() const { return bytes_; }

 private:
  struct Run {
    std::string path;
    std::ifstream file;
    SortEntry head;
  };
  void start();
  bool read(Run& run);

  const std::string directory_;
  storage::Engine& engine_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Run*> heap_;
  bool started_ = false;
  int64_t bytes_ = 0;
};

}  // namespace server::query::exec
