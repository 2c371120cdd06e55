// Sorts the rows from below: all of them, or the first few.
#pragma once

#include <deque>
#include <memory>

#include "server/core/allowance.h"
#include "server/query/document_metadata.h"
#include "server/query/exec/stage.h"
#include "server/query/sort_pattern.h"

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

// Returns a copy of the current document's metadata for its entry; nullptr if nobody wants them. `place` may be nullptr.
std::unique_ptr<DocumentMetadata> kept_metadata(const MetadataPlace* place);
// Makes the metadata of an entry that is given out the current ones.
void give_back(SortEntry& entry, MetadataPlace* place);

// Sorts them, and looks at the operation meanwhile.
void sort_entries(std::vector<SortEntry>& entries, Allowance& allowance);

class SortRuns;

class Sort : public Stage {
 public:
  struct Options {
    int64_t limit = 0;  // only that many are wanted; 0: all
    bool allow_disk_use = false;
    std::string temporary_path;  // a directory for sorted runs
    storage::Engine* engine = nullptr;
    size_t memory_bytes_max = 0;
    MetadataPlace* metadata = nullptr;  // it has the current document's, above the stage as below; nullptr: none are wanted
  };
  Sort(StagePtr child, SortPattern pattern, bson::DocumentView specification, Options options, Allowance& allowance);
  ~Sort() override;
  storage::RecordId record() const override { return current_.record; }
  bson::DocumentView document() override { return current_.document; }
  bson::BytesView key() const override { return {}; }
  bool resumes() const override { return false; }
  bool exhausted() const override { return stats().ended || (loaded_ && !runs_ && next_ == entries_.size()); }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  void take(SortEntry entry);
  void make_room();
  void finish();
  bool next();

  const SortPattern pattern_;
  const bson::Document specification_;
  const Options options_;
  Allowance& allowance_;
  Held held_;                       // the entries
  std::vector<SortEntry> entries_;  // a heap with the last on top if `limit` is full, else unordered
  std::unique_ptr<SortRuns> runs_;  // set once it has spilled
  SortEntry current_;
  size_t next_ = 0;
  size_t total_bytes_ = 0;
  int64_t arrivals_ = 0;
  bool loaded_ = false;
};

}  // namespace server::query::exec
