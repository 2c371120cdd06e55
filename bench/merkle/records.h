// Records are as YCSB makes them, with keys of 5 to 15 bytes and values of 256. This also has the ways into an index.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "versions/merkle/index.h"

namespace bench::merkle {

namespace siri = versions::merkle;
using base::Bytes;

struct Record {
  Bytes key, value;
};
// Records are distinct for numbers below 60 million, and each `version` has another value. Keys have `key_bytes_min`, 5 at least,
// to 15 bytes.
Bytes key_of(uint64_t number, size_t key_bytes_min = 5);
Record record(uint64_t number, uint64_t version = 0, size_t key_bytes_min = 5);
std::vector<Record> records(uint64_t first, uint64_t count, size_t key_bytes_min = 5);
void shuffle(std::vector<Record>& records, base::Random& random);
// Returns the last value of each key, in order of the keys.
std::vector<siri::Change> in_order(const Record* records, size_t count);

// Draws numbers below a bound, small ones more often: the k-th with 1
// k^theta (Gray et al., as in YCSB). With 0 all are alike.
class Zipf {
 public:
  Zipf(uint64_t below, double theta);
  uint64_t next(base::Random& random) const;

 private:
  uint64_t below_;
  double theta_, zeta_ = 0, alpha_ = 0, eta_ = 0;
};

// A Tree is an index and a state of it.
struct Tree {
  explicit Tree(const siri::IndexOptions& options) : index(siri::make_index(options)), root(index->empty(nodes)) {}

  // Puts records in batches, in the order they come, and returns CPU seconds. The root after each batch goes to `roots`, where
  // that is given.
  double put(const std::vector<Record>& records, size_t batch, std::vector<siri::Hash>* roots = nullptr);
  void build(const std::vector<Record>& records);  // at once

  siri::MemoryNodes nodes;
  std::unique_ptr<siri::Index> index;
  siri::Hash root;
};

struct NamedIndex {
  std::string name;
  siri::IndexOptions options;
};
// Returns the paper's four, and the POS-Tree as the paper cuts it.
std::vector<NamedIndex> all_indexes();

}  // namespace bench::merkle
