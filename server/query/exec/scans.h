// The leaves: where records come from.
#pragma once

#include <optional>
#include <unordered_set>

#include "server/query/exec/stage.h"

namespace server::query::exec {

using CollectionPtr = std::shared_ptr<storage::Collection>;
using IndexPtr = std::shared_ptr<const storage::Index>;

// Nothing at all: no such collection, or a filter nothing can match.
class Eof : public Stage {
 public:
  Eof() : Stage("EOF") {}
  storage::RecordId record() const override { return 0; }
  bson::DocumentView document() override { return {}; }
  bson::BytesView key() const override { return {}; }

 protected:
  Step do_work(storage::Transaction&) override { return Step::end; }
};

class CollectionScan : public Stage {
 public:
  CollectionScan(CollectionPtr collection, storage::Direction direction, Filter filter, bool tailable);
  storage::RecordId record() const override { return scan_->record(); }
  bson::DocumentView document() override { return scan_->document(); }
  bson::BytesView key() const override { return {}; }
  bool resumes() const override { return tailable_; }
  void count(ExecutionStats& total) const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void do_save() override;
  void do_restore(storage::Transaction& transaction) override;
  void append_filter(bson::Builder& out) const override { filter_.append(out); }
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  const CollectionPtr collection_;
  const storage::Direction direction_;
  const Filter filter_;
  const bool tailable_;
  std::unique_ptr<storage::CollectionScan> scan_;
  int64_t examined_ = 0;
  int64_t hops_ = 0;           // until the scan was last restored
  int64_t decoded_bytes_ = 0;
};

// What explain shows of an index scan.
struct IndexScanText {
  std::vector<std::pair<std::string, std::vector<std::string>>> bounds;  // field -> "[1, 5)" …
};

class IndexScan : public Stage {
 public:
  // Ranges going up and apart from each other; walked from the last when going backward.
  IndexScan(std::string name, CollectionPtr collection, IndexPtr index, std::vector<storage::KeyRange> ranges,
            storage::Direction direction, IndexScanText text);
  storage::RecordId record() const override { return cursor_->record(); }
  bson::DocumentView document() override { return {}; }
  bson::BytesView key() const override { return cursor_->key(); }
  void count(ExecutionStats& total) const override { total.keys_examined += examined_; }
  std::string summary() const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void do_save() override;
  void do_restore(storage::Transaction& transaction) override;
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  bool next_range();

  const CollectionPtr collection_;
  const IndexPtr index_;
  const std::vector<storage::KeyRange> ranges_;
  const storage::Direction direction_;
  const IndexScanText text_;
  std::unique_ptr<storage::IndexCursor> cursor_;
  size_t range_ = 0;                               // the next one, counted in walking order
  bool in_range_ = false;
  std::unordered_set<storage::RecordId> seen_;     // multikey: one record may have many entries
  int64_t examined_ = 0;
  int64_t seeks_ = 0;
  int64_t doubles_ = 0;
};

// One record by its _id.
class IdLookup : public Stage {
 public:
  IdLookup(CollectionPtr collection, bson::Value id, bool fetch)
      : Stage("IDHACK"), collection_(std::move(collection)), id_(std::move(id)), fetch_(fetch) {}
  storage::RecordId record() const override { return record_; }
  bson::DocumentView document() override { return document_; }
  bson::BytesView key() const override { return {}; }
  bool exhausted() const override { return done_; }
  void count(ExecutionStats& total) const override;
  std::string summary() const override { return "IDHACK"; }

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void append_figures(bson::Builder& out) const override;

 private:
  const CollectionPtr collection_;
  const bson::Value id_;
  const bool fetch_;
  storage::RecordId record_ = 0;
  bson::Document document_;
  storage::ReadInfo info_;
  bool done_ = false;
};

// Throws QueryPlanKilled when what the plan stands on is gone.
void check_alive(const storage::Collection& collection);
void check_alive(const storage::Collection& collection, const storage::Index& index);

}  // namespace server::query::exec
