// A sort that doesn't fit into memory writes sorted runs to disk, and merges them as they are read.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "server/query/exec/sort.h"

namespace server::query::exec {

// Its files are removed with it.
class SortRuns {
 public:
  explicit SortRuns(std::string directory) : directory_(std::move(directory)) {}
  ~SortRuns();

  // Writes one run. Throws OutOfDiskSpace if that fails.
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
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<Run*> heap_;
  bool started_ = false;
  int64_t bytes_ = 0;
};

}  // namespace server::query::exec
