// A Dataset is a made-up versioned collection. One of the branching strategies of Decibel §4.1 loads it into a real engine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "storage/store.h"
#include "versions/branch/branches.h"

namespace bench::branches {

enum class Strategy { deep, flat, science, curation };
const char* name_of(Strategy strategy);
const char* name_of(versions::Layout layout);

struct DatasetOptions {
  versions::Layout layout = versions::Layout::hybrid;
  Strategy strategy = Strategy::deep;
  size_t operations = 20'000;  // inserts and updates, over all branches
  size_t branches = 10;
  size_t commit_every = 1'000;  // operations on a branch
  double updates = 0.2;         // of the operations; the rest are inserts
  size_t batch = 100;           // operations a transaction
  uint64_t seed = 1;
};

// A Repository is an engine with one branched collection in a folder of its own.
class Repository {
 public:
  Repository(const std::string& folder, versions::Layout layout);

  storage::Store& disk() { return *disk_; }
  versions::Branches& branches() { return *branches_; }
  versions::BranchStore& store() { return branches_->store(0); }
  versions::View view(storage::Transaction& transaction, const std::string& branch);
  // Opens it again: caches of states are empty afterwards.
  void forget();
  std::shared_ptr<const versions::Commit> commit(const std::string& branch);
  // Returns the bytes of the data files after a checkpoint, without the journal, in a directory that was compacted.
  uint64_t settled_bytes();
  uint64_t table_bytes(const std::string& kind);

 private:
  std::unique_ptr<storage::Store> disk_;
  std::shared_ptr<storage::Collection> collection_;
  versions::Layout layout_;
  std::string folder_;
  std::unique_ptr<versions::Branches> branches_;
};

// Returns a document of 1 KB: an integer key and integer columns, all random.
constexpr size_t columns = 80;
base::Bytes random_record(base::Random& random, int64_t id);
// Returns the document with another value in one column.
base::Bytes with_column(base::BytesView record, size_t column, int64_t value);

struct MergeFigures {
  uint64_t bytes = 0;  // the bytes in which the sides differ
  double seconds = 0;  // CPU time
  size_t count = 0;
};

class Dataset {
 public:
  Dataset(const std::string& folder, const DatasetOptions& options);

  Repository repository;
  // Queries are about these views: the branch they scan and the one it is compared with (§4.3).
  std::string scanned, compared;
  std::vector<std::string> heads;
  std::vector<versions::CommitNumber> commits;
  uint64_t written_bytes = 0;  // the sum over the documents as they were written
  double load_seconds = 0;     // CPU
  double commit_seconds = 0;   // of it
  MergeFigures two_way, three_way;

 private:
  struct Line {
    std::string name;
    std::vector<int64_t> keys;
    size_t uncommitted = 0, operations = 0;
  };
  void operate(Line& line, size_t operations);
  void commit(Line& line);
  Line& fork(const Line& from);
  void merge(Line& into, const Line& from, bool three_way);
  void deep();
  void flat();
  void science();
  void curation();

  DatasetOptions options_;
  base::Random random_;
  std::vector<std::unique_ptr<Line>> lines_;
  int64_t next_key_ = 1;
};

}  // namespace bench::branches
