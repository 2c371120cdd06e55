// AND_SORTED returns the records that all of its index scans return.
//
//   scan of {a: 5}   3   7   9       21      40
//   scan of {b: 2}       7      12   21  30
//   AND_SORTED           7           21
//
// Each scan must return its records in the order of their ids: it is over entries with one key. A scan may have seen a record in
// an older snapshot than the other did, so the whole filter is to be checked on the document.
#pragma once

#include "server/query/exec/stage.h"

namespace server::query::exec {

class AndSorted : public Stage {
 public:
  explicit AndSorted(std::vector<StagePtr> scans);
  bool resumes() const override { return false; }
  storage::RecordId record() const override { return target_; }
  bson::DocumentView document() override { return {}; }
  bson::BytesView key() const override { return {}; }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_figures(bson::Builder& out) const override;

 private:
  Step step(storage::Transaction& transaction);

  storage::RecordId target_ = 0;  // the record that the scans are moved to
  size_t agreeing_ = 0;           // how many scans, up to the one before `next_`, are at the target
  size_t next_ = 0;               // the scan to be moved
  std::vector<int64_t> failed_;   // for each scan, how many of its records another one didn't have
};

}  // namespace server::query::exec
