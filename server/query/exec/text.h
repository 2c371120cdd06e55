// The stages of $text: the index's entries lead to documents, and the documents are checked for what the entries don't say.
//
//   TEXT_MATCH ── TEXT_OR ── IXSCAN for each term          with scores
//   TEXT_MATCH ── FETCH ── OR ── IXSCAN for each term      without
#pragma once

#include <unordered_map>

#include "server/core/allowance.h"
#include "server/query/document_metadata.h"
#include "server/query/exec/scans.h"
#include "server/query/match/text.h"
#include "server/query/plan/access.h"

namespace server::query::exec {

// Reads the entries of all terms, adds up the scores of each record, and returns the documents in the order in which they were
// met.
class TextOr : public Stage {
 public:
  // `beginnings`: of each scan's keys, what stands before the score. `metadata` gets the score of the current document.
  TextOr(std::vector<StagePtr> scans, CollectionPtr collection, std::vector<bson::Bytes> beginnings, MetadataPlace& metadata,
         Allowance& allowance);
  bool resumes() const override { return false; }
  storage::RecordId record() const override { return record_; }
  bson::DocumentView document() override { return document_; }
  bson::BytesView key() const override { return {}; }
  void count(ExecutionStats& total) const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_figures(bson::Builder& out) const override;

 private:
  Step read_entry(storage::Transaction& transaction);

  const CollectionPtr collection_;
  const std::vector<bson::Bytes> beginnings_;
  MetadataPlace& metadata_;
  Held held_;  // the records
  size_t scan_ = 0;
  std::unordered_map<storage::RecordId, double> scores_;
  std::vector<storage::RecordId> records_;
  size_t next_ = 0;
  storage::RecordId record_ = 0;
  bson::Document document_;
  int64_t examined_ = 0, hops_ = 0, decoded_bytes_ = 0;
};

class TextMatch : public Stage {
 public:
  // The access is borrowed until the constructor returns, and its predicate as long as the stage lives.
  TextMatch(StagePtr child, const plan::Access& access)
      : Stage("TEXT_MATCH", std::move(child)), text_(*access.text), index_(access.index), prefix_(access.text_prefix) {}

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  const match::Text& text_;
  const IndexPtr index_;
  const bson::Document prefix_;
  int64_t rejected_ = 0;
};

// Checks the other predicates. The document is there already.
class FilterFetched : public Stage {
 public:
  FilterFetched(StagePtr child, Filter filter) : Stage("FETCH", std::move(child)), filter_(std::move(filter)) {}

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_filter(bson::Builder& out) const override { filter_.append(out); }
  void append_figures(bson::Builder& out) const override;

 private:
  const Filter filter_;
  int64_t seen_ = 0;
};

}  // namespace server::query::exec
