// A PastCollection is a collection as a declared snapshot shows it: read-only, with the options and indexes that it had then.
//
//   records    current ones that are not newer than the snapshot, and what the page table has of the others
//   indexes    entries of these two: the index's own if the record is current, SavedEntries of the others
//
// It is Retro's "as of" view, with a row in the place of a page (Retro §4; docs/design/0007-past.md). Thread-safe; transactions
// are not.
#pragma once

#include <shared_mutex>

#include "base/mutex.h"
#include "storage/collections/stored_collection.h"
#include "versions/past/past.h"

namespace versions::past {

using storage::Direction;

// The records that a branch showed in a snapshot, which are the same for each transaction. Thread-safe.
class ShownRecords {
 public:
  virtual ~ShownRecords() = default;
  virtual bool contains(RecordId record) = 0;
};

class PastCollection final : public storage::Collection, public std::enable_shared_from_this<PastCollection> {
 public:
  // `entry` is what the catalog had then. `of_branch`: nullptr: all records are shown. Must not be called inside a transaction.
  PastCollection(Past& past, std::shared_ptr<storage::StoredCollection> base, const storage::CollectionEntry& entry,
                 std::string ns, DeclaredSnapshot snapshot, std::shared_ptr<ShownRecords> of_branch = nullptr);

  CollectionId id() const override { return base_->id(); }
  std::string ns() const override { return ns_; }
  std::string uuid_bytes() const override { return base_->uuid_bytes(); }
  const storage::CollectionOptions& options() const override { return options_; }
  // True also if the first branch of its database was made since: then the collection must be opened anew.
  bool dropped() const override { return base_->moves() != was_shared_ || !past_.snapshots().find(snapshot_.number); }
  bool read_only() const override { return true; }
  std::string_view read_only_because() const override { return "a snapshot is read-only"; }
  base::InterruptibleMutex& schema_mutex() override { return base_->schema_mutex(); }
  std::vector<std::shared_ptr<const storage::Index>> indexes() const override { return {indexes_.begin(), indexes_.end()}; }
  std::shared_ptr<const storage::Index> index(std::string_view name) const override;

  // They throw IllegalOperation.
  storage::Stored insert(Transaction& transaction, bson::DocumentView document) override;
  storage::Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) override;
  storage::Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) override;

  std::optional<bson::Document> find(Transaction& transaction, RecordId id, storage::ReadInfo* info) override;
  std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) override;
  std::unique_ptr<storage::CollectionScan> scan(Transaction& transaction, Direction direction) override;
  std::unique_ptr<storage::IndexCursor> scan(Transaction& transaction, const storage::Index& index, Direction direction) override;

  storage::RecordStore& records() override { return base_->records(); }
  // The documents are counted once for each snapshot. Their bytes are counted when somebody asks for them, which reads them all.
  // Both can be interrupted (storage::InterruptibleWaits).
  int64_t record_count() const override;
  int64_t logical_bytes() const override;

  // --- for its cursors Returns whether the record can be shown, if it existed.
  bool may_show(RecordId id) const { return !of_branch_ || of_branch_->contains(id); }
  // Returns whether the collection shows the content that left its row.
  bool shows_saved(const Mapping& saved) const {
    return saved.content <= snapshot_.stamp && may_show(saved.row) && !past_.purged(id(), saved);
  }
  // Returns whether the record was a document with this key. It may have been another document than now: after a restart the
  // highest ids are given out again. Keeps the content for whoever reads it next.
  bool shows_as(Transaction& transaction, RecordId record, BytesView key);
  std::shared_ptr<const ShownRows> rows(Transaction& transaction) const;
  // Returns the mapping of one record.
  std::optional<Stamp> row(Transaction& transaction, RecordId id) const;
  // Returns the generation of the content that the snapshot shows of the record; nullopt: none.
  std::optional<Stamp> generation(Transaction& transaction, RecordId id) const;
  // Returns whether an entry of the index as it is now, which leads to the record, holds for the snapshot.
  bool shows_current(Transaction& transaction, RecordId record, BytesView key, bool of_ids);
  Past& past() const { return past_; }
  storage::StoredCollection& base() const { return *base_; }
  Stamp snapshot() const { return snapshot_.stamp; }
  // Returns whether the index is gone: then its entries are as they were when it was dropped.
  bool gone(const storage::StoredIndex& index) const;

 private:
  // A record as the snapshot shows it.
  struct Shown {
    RecordId record = 0;
    Bytes content;
    storage::ReadInfo info;
    uint64_t purges = 0;  // the count of purges before it was read
  };
  [[noreturn]] void refuse_write() const;
  void check_whole() const { past_.check_whole(id(), snapshot_.stamp, ns_); }
  std::optional<Shown> read(Transaction& transaction, RecordId id);
  std::optional<Stamp> known_saved(RecordId id) const;
  std::shared_ptr<const ShownRows> known_rows(Transaction& transaction) const;  // nullptr: there is none, or it is too old

  Past& past_;
  const std::shared_ptr<storage::StoredCollection> base_;
  const std::string ns_;
  const DeclaredSnapshot snapshot_;
  const storage::CollectionOptions options_;
  storage::StoredIndexes indexes_;
  const std::shared_ptr<ShownRecords> of_branch_;
  const bool was_shared_;
  mutable base::Mutex mutex_;
  mutable std::shared_ptr<const ShownRows> rows_ GUARDED_BY(mutex_);  // valid for transactions up to its moment
  // `find_id` keeps what it read last for the next reader, since a snapshot shows the same of a record at all times.
  std::optional<Shown> found_ GUARDED_BY(mutex_);
  struct Counted {
    int64_t records = 0;
    std::optional<int64_t> bytes = {};
    uint64_t purges = 0;  // the count of purges before the count was made
  };
  Counted counted(bool with_bytes) const;
  mutable base::InterruptibleMutex counting_;  // one thread counts, and the others wait for what it finds
  mutable std::optional<Counted> counted_ GUARDED_BY(counting_);
};

}  // namespace versions::past
