// A sort that doesn't fit into memory writes sorted runs to disk, and merges them as they are read.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "server/query/exec/sorter.h"

namespace storage {
class Engine;
}

namespace server::query::exec {

// Its files are removed with it. Runs of a level are merged into one of the next when there are `fan_in` of them, so that few
// files are open at a time: a sort whose memory is short writes many small runs.
class SortRuns {
 public:
  static constexpr size_t fan_in = 16;

  // The files lie beside the engine's data. Merges account for their work, and hold the entries that they compare.
  SortRuns(storage::Engine& engine, Allowance& allowance);
  ~SortRuns();

  // Writes one run. Throws OutOfDiskSpace if that fails, or if the disk is nearly full, and what Allowance::work throws.
  void write(const std::vector<SortEntry>& sorted);
  // Call it after each write(), when the run's entries are freed. It throws what next() and write() throw.
  void merge_full_levels();
  // Call it after the last write(): it returns the next entry over all runs; false at the end. Throws ExceededMemoryLimit, and
  // InternalError or DataCorruptionDetected if a run isn't what was written.
  bool next(SortEntry& entry);

  size_t count() const { return written_; }  // by write()
  int64_t bytes() const { return bytes_; }   // likewise

 private:
  struct Run {
    std::string path;
    int level = 0;
    std::ifstream file;
    SortEntry head;
  };
  class Writer;
  Run& new_run(int level);
  void merge_last(size_t runs, int level);
  void start(size_t first);
  bool next_head(SortEntry& entry);
  bool read(Run& run);
  static bool later(const Run* a, const Run* b) { return b->head < a->head; }  // the entry that comes first is on top

  const std::string directory_;
  storage::Engine& engine_;
  Allowance& allowance_;
  std::vector<std::unique_ptr<Run>> runs_;  // their levels fall
  std::vector<Run*> heap_;                  // of what is being merged
  Held heads_;
  bool started_ = false;
  size_t written_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace server::query::exec
