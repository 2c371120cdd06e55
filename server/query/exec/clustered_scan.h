// A clustered scan reads the documents of a clustered collection in the order of their _id.
#pragma once

#include <optional>

#include "server/query/exec/scans.h"

namespace server::query::exec {

// The ends as explain shows them. A scan without ends is shown as a scan of the collection.
struct ClusteredScanText {
  std::optional<bson::Value> low, high;
};

class ClusteredScan : public Stage {
 public:
  struct Options {
    storage::Direction direction = storage::Direction::forward;
    bool fetch = true;  // false: nobody looks at the documents
    Filter filter = {};
    Filter shown = {};  // explain shows this: the ends don't go without saying
  };
  // `entries` scans the index on _id.
  ClusteredScan(CollectionPtr collection, std::unique_ptr<IndexScan> entries, Options options, ClusteredScanText text);

  storage::RecordId record() const override { return entries_->record(); }
  bson::DocumentView document() override { return document_; }
  bson::BytesView key() const override { return {}; }
  void count(ExecutionStats& total) const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void do_save() override { entries_->save(); }
  void do_restore(storage::Transaction& transaction) override { entries_->restore(transaction); }
  void append_filter(bson::Builder& out) const override { options_.shown.append(out); }
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  const CollectionPtr collection_;
  const std::unique_ptr<IndexScan> entries_;
  const Options options_;
  const ClusteredScanText text_;
  bson::Document document_;
  int64_t examined_ = 0;
  int64_t hops_ = 0;
  int64_t decoded_bytes_ = 0;
};

}  // namespace server::query::exec
