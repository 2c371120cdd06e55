// Sorts the rows from below: all of them, or the first few.
#pragma once

#include "server/query/exec/sorter.h"
#include "server/query/exec/stage.h"
#include "server/query/sort_pattern.h"

namespace server::query::exec {

class Sort : public Stage {
 public:
  // The metadata's place, if there is one, has the current document's above the stage as below.
  Sort(StagePtr child, SortPattern pattern, bson::DocumentView specification, const Sorter::Options& options,
       Allowance& allowance);
  storage::RecordId record() const override { return current_.record; }
  bson::DocumentView document() override { return current_.document; }
  bson::BytesView key() const override { return {}; }
  bool resumes() const override { return false; }
  bool exhausted() const override { return stats().ended || (loaded_ && sorter_.exhausted()); }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  const SortPattern pattern_;
  const bson::Document specification_;
  const int64_t limit_;
  const size_t memory_bytes_max_;
  Allowance& allowance_;
  Sorter sorter_;
  SortEntry current_;
  size_t total_bytes_ = 0;
  bool loaded_ = false;
};

}  // namespace server::query::exec
