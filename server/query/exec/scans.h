// The leaves of the tree are where records come from.
#pragma once

#include <optional>
#include <unordered_set>

#include "server/query/exec/stage.h"

namespace storage {
class EntryTypes;
}

namespace server::query::exec {

using CollectionPtr = std::shared_ptr<storage::Collection>;
using IndexPtr = std::shared_ptr<const storage::Index>;

// Returns nothing: there is no such collection, or the filter can't match.
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
  // `changes`: the documents that it returns may be removed before it goes on.
  CollectionScan(CollectionPtr collection, storage::Direction direction, Filter filter, bool tailable, bool changes);
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
  const bool changes_;
  std::unique_ptr<storage::CollectionScan> scan_;
  int64_t examined_ = 0;
  int64_t hops_ = 0;  // up to the last restore of the scan
  int64_t decoded_bytes_ = 0;
};

// The texts that explain shows of an index scan.
struct IndexScanText {
  std::vector<std::pair<std::string, std::vector<std::string>>> bounds;  // field -> "[1, 5)" …
  // The same as two keys, for a count of the entries between them.
  bson::Document start_key, end_key;
  bool start_included = true, end_included = true;
};

class IndexScan : public Stage {
 public:
  struct Options {
    // Ascending and disjoint; a backward scan begins with the last.
    std::vector<storage::KeyRange> ranges;
    storage::Direction direction = storage::Direction::forward;
    // For a covered query: the current document has only these fields of the index, in its order. If an entry doesn't determine
    // its values, its document is fetched. Empty: there is no current document.
    std::vector<bool> values = {};
    Filter filter = {};  // applies to such a document
    // The scan goes from one value of this field, with those before it, to the next. If the value is null it returns every entry,
    // because documents without the field lie among those that have it.
    std::optional<size_t> distinct = {};
  };
  IndexScan(std::string name, CollectionPtr collection, IndexPtr index, Options options, IndexScanText text);
  storage::RecordId record() const override { return cursor_->record(); }
  bson::DocumentView document() override { return document_; }
  bson::BytesView key() const override { return cursor_->key(); }
  void count(ExecutionStats& total) const override;
  std::string summary() const override;

 protected:
  Step do_work(storage::Transaction& transaction) override;
  void do_save() override;
  void do_restore(storage::Transaction& transaction) override;
  void append_filter(bson::Builder& out) const override { options_.filter.append(out); }
  void append_details(bson::Builder& out) const override;
  void append_figures(bson::Builder& out) const override;

 private:
  void open(storage::Transaction& transaction);
  bool next_range();
  bool next_entry();
  bool has_values() const;
  bool read_document(storage::Transaction& transaction);
  void plan_leap(bson::BytesView types);
  bool leap();

  const CollectionPtr collection_;
  const IndexPtr index_;
  const Options options_;
  const IndexScanText text_;
  std::unique_ptr<storage::IndexCursor> cursor_;
  const storage::EntryTypes* types_ = nullptr;  // the cursor, if its entries have their values' types
  size_t range_ = 0;                            // the next range, in the order of the scan
  bool in_range_ = false;
  std::optional<bson::Bytes> leap_;  // the scan skips entries that begin with this
  bson::Document document_;
  std::unordered_set<storage::RecordId> seen_;  // in a multikey index one record may have many entries
  int64_t fetched_ = 0;
  int64_t examined_ = 0;
  int64_t seeks_ = 0;
  int64_t doubles_ = 0;
};

// Finds one record by its _id.
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

// Throws QueryPlanKilled if the collection or index of the plan is gone.
void check_alive(const storage::Collection& collection);
void check_alive(const storage::Collection& collection, const storage::Index& index);

}  // namespace server::query::exec
