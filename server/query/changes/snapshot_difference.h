// A snapshot's difference is what a stream returns that starts at a declared snapshot which the log no longer reaches back to:
// one event for each document that the present shows differently, as if each had changed once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/query/changes/change_event.h"
#include "storage/collections/collection.h"
#include "storage/engine/transaction.h"

namespace server::query {

// It is one majority-committed moment of the present, from the first batch of a cursor to its last. It may move between threads.
class SnapshotDifference {
 public:
  // `db`: the stream's database, or branch; `collection`: empty for all. `snapshot`: the number of a declared one.
  SnapshotDifference(OperationContext& op, std::string db, const std::string& collection, uint64_t snapshot,
                     const EventOptions& options);

  // The log's changes go on behind this row.
  storage::Stamp moment() const { return moment_; }
  // Returns the next event; nothing: there are no more.
  std::optional<ChangeEvent> next(OperationContext& op);

 private:
  struct Sides {
    std::string name;
    std::shared_ptr<storage::Collection> then, now;  // nullptr: it isn't there
  };
  bool open_next();
  std::optional<bson::Document> find(storage::Collection* in, const bson::ValueView& id);
  ChangeEvent event(std::string_view type, bson::DocumentView document);

  const std::string db_;
  const EventOptions options_;
  storage::Stamp moment_ = 0;
  int64_t wall_ms_ = 0;
  std::vector<Sides> collections_;
  size_t at_ = 0;
  bool removed_ = false;  // the scan is of `then`, for what was removed
  int64_t events_ = 0;
  std::unique_ptr<storage::Transaction> transaction_;
  std::unique_ptr<storage::CollectionScan> scan_;
};

}  // namespace server::query
