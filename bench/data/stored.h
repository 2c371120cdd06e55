// Stored keeps a workload in a real engine's data directory, in this process. It measures what the files take, what the log
// carries and what reads cost.
#pragma once

#include <memory>
#include <string>

#include "bench/data/workload.h"
#include "bson/builder.h"
#include "bson/document.h"
#include "storage/store.h"

namespace bench {

struct StoredOptions {
  bool dedup = true;
  std::string profile = "balanced";
  std::string block_compressor = "zstd";
  bool version_keys = false;  // collections declare which documents are versions of one thing, as in `palimpsest replay`
  uint64_t cache_bytes = 1ull << 30;
  uint64_t write_back_bytes = 8ull << 20;
};

struct StoredSizes {
  uint64_t logical_bytes = 0;
  uint64_t file_bytes = 0;   // as `palimpsest replay` counts: every file but journal and oplog, after a clean checkpoint
  uint64_t dedup_bytes = 0;  // before block compression
  uint64_t log_raw_bytes = 0, log_forward_bytes = 0, log_zstd_bytes = 0;
  uint64_t index_bytes = 0, index_records = 0;
  uint64_t hops_max = 0;
  double load_seconds = 0, settle_seconds = 0;

  double file_ratio() const { return file_bytes ? static_cast<double>(logical_bytes) / static_cast<double>(file_bytes) : 0; }
  double dedup_ratio() const { return dedup_bytes ? static_cast<double>(logical_bytes) / static_cast<double>(dedup_bytes) : 0; }
};

// It throws OperationError.
class Stored {
 public:
  Stored(const std::string& folder, const StoredOptions& options);
  ~Stored();

  // Inserts in transactions of 100 documents at full speed into its collections in the database `bench`.
  void load(const Workload& workload, size_t first = 0, size_t last = SIZE_MAX);
  // Drains the dedup queue, packs, compacts and checkpoints.
  void settle();
  StoredSizes sizes();  // after settle()

  // Closes and opens the directory again; returns the milliseconds that rebuilding the feature indexes took.
  int64_t reopen();

  storage::Store& store() { return *store_; }
  const std::vector<std::shared_ptr<storage::Collection>>& collections() const { return collections_; }
  bson::Document status() const;  // serverStatus().dedup

 private:
  void open();
  storage::CollectionOptions collection_options(const Workload& workload, const std::string& collection) const;

  std::string folder_;
  StoredOptions options_;
  uint64_t logical_bytes_ = 0;
  double load_seconds_ = 0, settle_seconds_ = 0;
  std::unique_ptr<storage::Store> store_;
  std::vector<std::shared_ptr<storage::Collection>> collections_;
};

// Does the same in one step, in a folder that goes away.
StoredSizes stored_sizes(const Workload& workload, const StoredOptions& options, const std::string& scratch);

}  // namespace bench
