// Versions of indexes share nodes: this measures the deduplication ratio and the node sharing ratio (§4.2.1, §5.4.2).
#pragma once

#include <unordered_map>

#include "bench/merkle/records.h"

namespace bench::merkle {

// Adds up the nodes of versions, which may lie in different stores.
class Sharing {
 public:
  void add(siri::Nodes& nodes, const siri::Hash& root);

  double dedup_ratio() const { return 1 - static_cast<double>(kept_.bytes) / static_cast<double>(all_.bytes); }
  double node_ratio() const { return 1 - static_cast<double>(kept_.nodes) / static_cast<double>(all_.nodes); }
  uint64_t stored_bytes() const { return kept_.bytes; }
  uint64_t stored_nodes() const { return kept_.nodes; }
  // The sum where nothing is shared: each version has all its nodes.
  uint64_t all_bytes() const { return all_.bytes; }
  uint64_t all_nodes() const { return all_.nodes; }

 private:
  struct Sum {
    uint64_t nodes = 0, bytes = 0;
  };
  struct First8 {
    size_t operator()(const siri::Hash& hash) const { return base::load_le<size_t>(hash.data()); }
  };
  Sum below(siri::Nodes& nodes, const siri::Hash& root);

  std::unordered_map<siri::Hash, Sum, First8> sums_;  // of each node met, with all below it
  Sum all_, kept_;
};

// Makes the data of §5.4.2: groups that begin with the same records and add records of their own and some that all add, each in
// an order of its own.
struct Collaboration {
  size_t groups = 10, initial = 40'000, workload = 160'000, batch = 4'000;
  double overlap = 0.5;
  bool heads_only = false;  // the last versions alone
  size_t key_bytes_min = 5;
};
// Takes a part of the paper's records and batches.
Collaboration scaled(double scale, double overlap = 0.5, size_t batch = 4'000);
Sharing collaborate(const Collaboration& how, const siri::IndexOptions& options);

}  // namespace bench::merkle
