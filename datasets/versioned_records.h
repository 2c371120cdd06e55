// Versioned records as JSON lines, one commit a line:
//
//   {commit, parents: […], author, timestamp, message,
//    changes: [{op: insert|update|delete, coll, key, record}, …]}
//
// A change leads from the first parent's state to the commit's. What is loaded
// is the line of first parents that ends in the last commit: replaying it gives
// that commit's state, {_id: key, …record} in each collection, and a document a
// commit in `commits`. Commits off the line came in by a merge on it.
//
// The line is only known at the end, so commits go through a temporary file;
// memory holds 40 bytes a commit.
#pragma once

#include <vector>

#include "datasets/json_lines.h"
#include "datasets/loader.h"
#include "datasets/spool.h"

namespace datasets {

class VersionedRecordsLoader : public Loader {
 public:
  VersionedRecordsLoader(InputFile file, Problems& problems) : lines_(std::move(file), problems) {}
  std::optional<Item> next() override;

 private:
  void read_all();
  bool open_next_commit();
  std::optional<Item> change_item(const bson::DocumentView& change);

  JsonLines lines_;
  Spool spool_;
  bool read_ = false;
  std::vector<uint64_t> line_;  // places in the spool, last first
  bson::Document commit_;
  bson::DocumentView changes_;
  bson::DocumentView::Iterator change_;
  int64_t timestamp_ms_ = 0;  // it never goes back, so that sorting keeps the order
};

}  // namespace datasets
