// A BitmapStore is tuple-first or hybrid (Decibel §3.2, §3.4): each state has bitmaps of the records it shows.
//
// The two differ in their segments alone. With tuple-first all branches write into one heap. With hybrid each branch has a head
// segment of its own, which becomes internal when another branch is made from it; branches.h decides that. A state neither reads
// nor stores segments in which it has nothing.
#pragma once

#include "versions/branch/branch_store.h"

namespace versions {

class BitmapStore : public BranchStore {
 public:
  explicit BitmapStore(StoreParts parts, const std::vector<std::string>& more_tables = {});

  void begin(Transaction& transaction, State state, RecordId newest) override;
  bool shows(Transaction& transaction, const View& view, RecordId record) override;
  RecordId find(Transaction& transaction, const View& view, BytesView key) override;
  std::unique_ptr<Scan> scan(Transaction& transaction, const View& view) override;
  std::unique_ptr<ManyScan> scan_many(Transaction& transaction, const std::vector<View>& views) override;
  Difference diff(Transaction& transaction, const View& a, const View& b) override;
  bool same_line(Transaction& transaction, State a, State b) override {
    return history_.first_of(transaction, a) == history_.first_of(transaction, b);
  }
  RecordSet shown_by_any(Transaction& transaction, const std::vector<State>& states, const RecordSet& records) override;
  CommitHistory* states() override { return &history_; }
  std::string states_table() const override { return more_[0].name(); }

 protected:
  void save_state(Transaction& transaction, const View& view, State state, const RecordSet& added,
                  const RecordSet& removed) override;
  std::shared_ptr<const RecordSet> live(Transaction& transaction, const View& view);

  CommitHistory history_;
};

}  // namespace versions
