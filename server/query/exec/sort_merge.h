// SortMerge merges the rows of stages that are sorted alike, and returns every record once.
#pragma once

#include <functional>
#include <unordered_set>

#include "server/query/exec/stage.h"

namespace server::query::exec {

class SortMerge : public Stage {
 public:
  // Returns what the current row of a branch is sorted by, as bytes.
  using KeyOf = std::function<bson::Bytes(Stage& branch, size_t number)>;
  // `backward`: the greatest bytes come first.
  SortMerge(std::vector<StagePtr> branches, bson::DocumentView sort, KeyOf key_of, bool backward);

  bool resumes() const override { return false; }
  storage::RecordId record() const override { return rows_[current_].record; }
  bson::DocumentView document() override { return children_[current_]->document(); }
  bson::BytesView key() const override { return rows_[current_].entry; }
  size_t branch() const { return current_; }  // the one that has the current row

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override { out.append("sortPattern", sort_); }
  void append_figures(bson::Builder& out) const override;

 private:
  // A branch's row that waits for its turn. It is kept here because a branch forgets its place when the query pauses.
  struct Row {
    bson::Bytes sort_key;
    bson::Bytes entry;
    storage::RecordId record = 0;
  };
  bool comes_later(size_t a, size_t b) const;
  void take(size_t branch);
  size_t pop();

  const bson::Document sort_;
  const KeyOf key_of_;
  const bool backward_;
  std::vector<Row> rows_;
  std::vector<size_t> hungry_;   // branches whose next row is still to be read
  std::vector<size_t> waiting_;  // a heap of branches with a row, the next one on top
  size_t current_ = 0;
  std::unordered_set<storage::RecordId> seen_;
  int64_t doubles_ = 0;
};

}  // namespace server::query::exec
