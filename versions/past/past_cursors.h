// These cursors go over a collection as a declared snapshot shows it. Each merges two walks.
#pragma once

#include "storage/contents/kept_contents.h"
#include "versions/past/past_collection.h"

namespace versions::past {

// Walks in the order of records: over current ones that the snapshot shows, and over what the page table has of the others.
class PastScan final : public storage::CollectionScan {
 public:
  PastScan(std::shared_ptr<PastCollection> collection, Transaction& transaction, Direction direction);

  bool next() override;
  RecordId record() const override { return record_; }
  bson::DocumentView document() override;
  void save() override;
  void restore(Transaction& transaction) override;
  void seek(RecordId id) override;
  storage::ReadInfo read_info() const override;

 private:
  void open(Transaction& transaction);
  bool forward() const { return direction_ == Direction::forward; }
  void stand_after(RecordId id);
  void step_current();
  void settle_saved();
  void pass_saved();
  bool passed(RecordId id) const { return after_ != 0 && (forward() ? id <= after_ : id >= after_); }
  bool takes_saved() const;
  void read_saved(const Mapping& saved);

  const std::shared_ptr<PastCollection> collection_;
  const Direction direction_;
  Transaction* transaction_ = nullptr;
  std::optional<storage::RecordCursor> current_;
  std::optional<storage::KeptContents> kept_;
  storage::ReadInfo info_;   // about kept contents
  bool on_current_ = false;  // whether it stands on a current record
  bool placed_ = false;      // whether `current_` stands on the next record already
  std::shared_ptr<const ShownRows> rows_;
  std::optional<PageTableWalk> table_, newer_;  // over the two tables of rows_
  std::optional<Mapping> saved_;                // the next mapping that is shown; nullopt: there is none
  RecordId after_ = 0;                          // the scan goes on behind this record; 0: it begins
  RecordId record_ = 0;                         // 0: it stands before the first
  std::optional<Stamp> then_;                   // the record's mapping; nullopt: its row has what the snapshot shows
  Bytes content_;                               // a kept content that somebody asked for
  bool has_content_ = false;
};

// Walks in the order of keys and records: over entries of current records, and over saved ones.
class PastIndexCursor final : public storage::IndexCursor {
 public:
  PastIndexCursor(std::shared_ptr<PastCollection> collection, std::shared_ptr<const storage::StoredIndex> index,
                  Transaction& transaction, Direction direction);

  void seek(const storage::KeyRange& range) override;
  bool next() override;
  RecordId record() const override { return record_; }
  BytesView key() const override { return key_; }
  void save() override;
  void restore(Transaction& transaction) override;

 private:
  void open(Transaction& transaction);
  bool next_current();
  bool next_saved();
  bool holds(BytesView key, RecordId record);
  // Returns < 0 if the first of two entries comes first in the cursor's direction.
  int order(BytesView key, RecordId record, BytesView other_key, RecordId other) const;

  const std::shared_ptr<PastCollection> collection_;
  const std::shared_ptr<const storage::StoredIndex> index_;
  const Direction direction_;
  bool gone_;  // asked anew after each pause: the index may be dropped meanwhile
  Transaction* transaction_ = nullptr;
  std::unique_ptr<storage::IndexCursor> current_;
  std::optional<SavedEntries::Cursor> saved_;
  std::optional<std::pair<RecordId, Stamp>> shown_;  // the last look-up: record -> the content that the snapshot shows; 0: none
  storage::KeyRange range_;
  bool on_current_ = false, on_saved_ = false;
  bool stepped_current_ = false, stepped_saved_ = false;  // whether these stand on what comes next
  bool started_ = false;
  Bytes key_;
  RecordId record_ = 0;
};

}  // namespace versions::past
