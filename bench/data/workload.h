// A workload in memory is what the benchmarks feed to encoders, engines and other programs, the same bytes to all of
// them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace bench {

using base::Bytes;
using base::BytesView;

struct Record {
  Bytes document;           // BSON, with a unique _id
  uint32_t collection = 0;  // its place in Workload::collections
  uint64_t group = 0;       // page, thread, post, key: what its versions share
  int64_t timestamp_ms = 0;
  uint32_t views = 0;
};

struct Workload {
  std::string name;    // wiki, mail, stackexchange, boards, versions
  std::string source;  // a path, or "synthetic:…"
  bool real = true;
  std::vector<std::string> collections;
  std::vector<Record> records;  // in the order of the data

  uint64_t bytes() const;
  // Returns it as it was written (dbDedup §6.1): by timestamp; records of one moment keep their order.
  Workload by_time() const;
  // Takes whole groups, chosen by hash, until there is as much as wanted, as the thesis does with articles. It is deterministic,
  // and returns everything where there is no more than that.
  Workload sample(uint64_t bytes_max) const;
  // Takes groups with at least so many records.
  Workload histories(size_t records_min) const;
};

inline constexpr const char* workload_names[] = {"wiki", "mail", "stackexchange", "boards", "versions"};

// Looks for shared/datasets above the working directory or the program; nullopt when it isn't there.
std::optional<std::string> find_data();

struct WorkloadOptions {
  std::optional<std::string> data;  // the folder that holds wiki, enron, …; nullopt: synthetic
  uint64_t synthetic_bytes = 64 << 20;
  uint64_t seed = 1;
};

// Throws datasets::InputError where the data can't be read. Where the folder lacks a data set, the synthetic
// one with the numbers of the thesis's Table 6.1 takes its place (versions: Wikipedia's, with 50 versions each).
Workload load(const std::string& name, const WorkloadOptions& options);

// Reads a git repository's history; every version of every text file is a record.
Workload load_history(const std::string& repository);

}  // namespace bench
