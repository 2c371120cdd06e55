// These stages stand above the leaves.
#pragma once

#include <unordered_set>

#include "server/core/memory.h"
#include "server/query/exec/scans.h"
#include "server/query/fitting_int.h"
#include "server/query/projection.h"

namespace server::query::exec {

// Fetches the documents of index entries; drops those that don't match the rest of the filter.
class Fetch : public Stage {
 public:
  Fetch(StagePtr child, CollectionPtr collection, Filter filter)
      : Stage("FETCH", std::move(child)), collection_(std::move(collection)), filter_(std::move(filter)) {}
  bson::DocumentView document() override { return document_; }
  void count(ExecutionStats& total) const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_filter(bson::Builder& out) const override { filter_.append(out); }
  void append_figures(bson::Builder& out) const override;

 private:
  const CollectionPtr collection_;
  const Filter filter_;
  bson::Document document_;
  int64_t examined_ = 0;
  int64_t hops_ = 0;
  int64_t decoded_bytes_ = 0;
};

// Runs one branch after the other, and returns every record once.
class Or : public Stage {
 public:
  explicit Or(std::vector<StagePtr> branches);
  bool resumes() const override { return false; }
  storage::RecordId record() const override { return children_[current_]->record(); }
  bson::DocumentView document() override { return children_[current_]->document(); }
  bson::BytesView key() const override { return children_[current_]->key(); }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_figures(bson::Builder& out) const override;

 private:
  size_t current_ = 0;
  std::unordered_set<storage::RecordId> seen_;
  int64_t doubles_ = 0;
};

class Skip : public Stage {
 public:
  Skip(StagePtr child, int64_t count) : Stage("SKIP", std::move(child)), count_(count), left_(count) {}

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override { out.append("skipAmount", fitting_int(count_)); }

 private:
  const int64_t count_;
  int64_t left_;
};

class Limit : public Stage {
 public:
  Limit(StagePtr child, int64_t count) : Stage("LIMIT", std::move(child)), count_(count), left_(count) {}
  bool exhausted() const override { return left_ == 0 || Stage::exhausted(); }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override { out.append("limitAmount", fitting_int(count_)); }

 private:
  const int64_t count_;
  int64_t left_;
};

class Project : public Stage {
 public:
  // `covered`: the input has only fields of an index's keys.
  Project(StagePtr child, const Projection& projection, bson::DocumentView specification, bool covered, MemoryBudget& memory)
      : Stage(!projection.simple() ? "PROJECTION_DEFAULT"
              : covered            ? "PROJECTION_COVERED"
                                   : "PROJECTION_SIMPLE",
              std::move(child)),
        projection_(projection),
        specification_(specification),
        held_(memory) {}
  bson::DocumentView document() override { return document_; }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override { out.append("transformBy", specification_); }

 private:
  const Projection& projection_;
  const bson::Document specification_;
  bson::Document document_;
  Held held_;  // document_
};

// returnKey: returns the fields of the index entry instead of the document.
class ReturnKey : public Stage {
 public:
  ReturnKey(StagePtr child, IndexPtr index) : Stage("RETURN_KEY", std::move(child)), index_(std::move(index)) {}
  bson::DocumentView document() override { return document_; }

 protected:
  Step do_work(storage::Transaction& transaction) override;

 private:
  const IndexPtr index_;  // nullptr: no index is used, and keys are empty
  bson::Document document_;
};

// showRecordId: adds $recordId.
class ShowRecordId : public Stage {
 public:
  explicit ShowRecordId(StagePtr child) : Stage("PROJECTION_DEFAULT", std::move(child)) {}
  bson::DocumentView document() override { return document_; }

 protected:
  Step do_work(storage::Transaction& transaction) override;

 private:
  bson::Document document_;
};

}  // namespace server::query::exec
