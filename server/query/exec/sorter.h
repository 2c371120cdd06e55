// A sorter takes entries in any order and gives them out sorted: all of them, or the first few. When its memory is full, or when
// the server's pool has none left, it writes sorted runs to disk (sort_runs.h).
#pragma once

#include <memory>
#include <vector>

#include "bson/document.h"
#include "server/core/allowance.h"
#include "server/query/document_metadata.h"
#include "storage/collections/collection.h"

namespace storage {
class Engine;
}

namespace server::query::exec {

struct SortEntry {
  bson::Bytes key;
  int64_t arrival = 0;  // equal keys stay in the order in which they came
  storage::RecordId record = 0;
  bson::Document document;
  std::unique_ptr<DocumentMetadata> metadata = nullptr;  // nullptr: nobody wants them

  bool operator<(const SortEntry& other) const {
    const int order = key.compare(other.key);
    return order != 0 ? order < 0 : arrival < other.arrival;
  }
  size_t bytes() const { return sizeof(SortEntry) + key.size() + document.size() + (metadata ? metadata->bytes() : 0); }
};

class SortRuns;

// It serves one thread at a time.
class Sorter {
 public:
  struct Options {
    int64_t limit = 0;  // only that many are wanted; 0: all
    bool allow_disk_use = false;
    size_t memory_bytes_max = 0;
    storage::Engine* engine = nullptr;  // sorted runs lie beside its data; nullptr: only if they may not be written
    MetadataPlace* metadata =
        nullptr;  // it has the current document's, when one is taken and given out; nullptr: none are wanted
  };
  Sorter(Options options, Allowance& allowance);
  ~Sorter();

  // Throws QueryExceededMemoryLimitNoDiskUseAllowed if the entries don't fit into memory and may not go to disk; and what
  // Allowance's and SortRuns' functions throw.
  void take(bson::Bytes key, storage::RecordId record, bson::DocumentView document);
  // Call it once, after the last take().
  void finish();
  // Returns the next entry; false at the end.
  bool next(SortEntry& entry);
  // Returns whether all entries were given out, if that is known without reading.
  bool exhausted() const { return !runs_ && next_ == entries_.size(); }

  bool used_disk() const { return runs_ != nullptr; }
  size_t runs() const;
  int64_t bytes_on_disk() const;

 private:
  void hold(size_t bytes);
  void sort_all();
  void write_run();
  bool at_limit() const { return options_.limit != 0 && entries_.size() == static_cast<size_t>(options_.limit); }

  const Options options_;
  Allowance& allowance_;
  Held held_;                       // the entries
  std::vector<SortEntry> entries_;  // a heap with the last on top if `limit` is reached, else unordered
  std::unique_ptr<SortRuns> runs_;  // set once it has spilled
  size_t next_ = 0;
  int64_t arrivals_ = 0;
};

}  // namespace server::query::exec
