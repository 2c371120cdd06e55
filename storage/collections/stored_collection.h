// StoredCollection is a collection of the catalog: it keeps a record store and its indexes in step.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "storage/collections/catalog_rows.h"
#include "storage/collections/write_observer.h"
#include "storage/engine/counts.h"
#include "storage/engine/insert_turn.h"
#include "storage/indexes/stored_index.h"

namespace storage {

class StoredCollection final : public Collection, public std::enable_shared_from_this<StoredCollection> {
 public:
  StoredCollection(CollectionServices& services, Table catalog_table, CollectionEntry entry, std::shared_ptr<Counts> counts);

  CollectionId id() const override { return id_; }
  std::string ns() const override;
  std::string uuid_bytes() const override { return uuid_; }
  const CollectionOptions& options() const override { return *options_.load(std::memory_order_acquire); }
  bool dropped() const override { return dropped_.load(std::memory_order_acquire); }
  bool read_only() const override { return false; }
  std::shared_mutex& schema_mutex() override { return schema_mutex_; }

  std::vector<std::shared_ptr<const Index>> indexes() const override;
  std::shared_ptr<const Index> index(std::string_view name) const override;

  Stored insert(Transaction& transaction, bson::DocumentView document) override;
  Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) override;
  Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) override;

  std::optional<bson::Document> find(Transaction& transaction, RecordId id, ReadInfo* info) override;
  std::optional<RecordId> current(Transaction& transaction, RecordId id) override;
  bool moves() const override { return view_.load(std::memory_order_acquire) != nullptr; }
  std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) override;
  std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) override;

  std::unique_ptr<CollectionScan> scan(Transaction& transaction, Direction direction) override;
  std::unique_ptr<IndexCursor> scan(Transaction& transaction, const Index& index, Direction direction) override;

  RecordStore& records() override { return records_; }
  int64_t record_count() const override;
  int64_t logical_bytes() const override;
  int64_t stored_records() const override { return std::max<int64_t>(0, counts_->records.load(std::memory_order_relaxed)); }
  int64_t stored_bytes() const override { return std::max<int64_t>(0, counts_->bytes.load(std::memory_order_relaxed)); }

  // From this call on others show the records too: `view` decides what this collection shows, and does its writes. It uses the
  // records, the indexes and the calls below, and may not outlive the collection. The caller calls this once, while it holds
  // the schema lock exclusively or before anyone else sees the collection.
  void share(std::shared_ptr<Collection> view);
  // Does the same as `remove` for a document that no snapshot is to show from now on. The collection must have no view.
  void purge(Transaction& transaction, RecordId id, bson::DocumentView before);
  // These are the steps of a write that this collection and a view of it have in common, in their order: the check for room,
  // the timestamp, and the report. Between the last two the writer changes its own records and entries.
  // Throws OutOfDiskSpace when a document grows by `more_bytes` and the disk's reserve is touched.
  void require_room(int64_t more_bytes) const;
  Stamp take_stamp(Transaction& transaction) const;
  // Change says by how much a write changes the number of records and their bytes, and has the write's timestamp for dedup.
  struct Change {
    int64_t records = 0;
    int64_t bytes = 0;
    Stamp stamp = 0;  // 0: a removal
  };
  void count(Transaction& transaction, const Change& change);
  // Does the same and reports the write to dedup. `superseded` is what the record held before, and `document` what it holds
  // now.
  void written(Transaction& transaction, RecordId record, const Superseded& superseded, const Change& change,
               bson::DocumentView document);
  Engine& engine() const { return engine_; }

  // The catalog makes these calls; it holds the schema lock exclusively or is alone with the collection.
  CollectionEntry entry() const;  // as the catalog is to store it
  void set_entry(const CollectionEntry& entry);
  void set_options(const CollectionOptions& options);
  std::shared_ptr<const StoredIndexes> stored_indexes() const;
  void set_indexes(std::shared_ptr<const StoredIndexes> indexes);
  void set_dropped() { dropped_.store(true, std::memory_order_release); }
  // Puts the document's keys into one index; an index is built by this call.
  void index_document(Transaction& transaction, StoredIndex& index, RecordId record, bson::DocumentView document,
                      const IndexKeys& keys);
  // Corrects the counts; the caller holds the schema lock exclusively.
  void correct_counts(int64_t records, int64_t bytes);
  // Stores the flags durably, before the caller's transaction shows such a key to anyone.
  void note_multikey(StoredIndex& index, uint32_t fields);

 private:
  void add_entries(Transaction& transaction, RecordId record, bson::DocumentView document);
  void remove_entries(Transaction& transaction, RecordId record, bson::DocumentView document);
  void change_entries(Transaction& transaction, RecordId record, bson::DocumentView before, bson::DocumentView after);
  std::vector<bson::Document> trim(Transaction& transaction, RecordId newest);
  Superseded take_away(Transaction& transaction, RecordId id, bson::DocumentView before, Stamp shown);
  void take_turn(Transaction& transaction);
  void report(Transaction& transaction, RecordId record, const Superseded& superseded, Stamp after, bson::DocumentView document);
  // Returns the newest declared snapshot that doesn't show a write with this timestamp; 0: there is none.
  Stamp shown_before(Stamp write) const;
  void save(Transaction& transaction, RecordId record, const Superseded& before, Stamp write) const;

  CollectionServices& services_;
  Engine& engine_;
  const Table catalog_table_;
  const CollectionId id_;
  const Bytes uuid_;
  std::shared_mutex schema_mutex_;
  mutable std::mutex mutex_;                     // protects entry_, the pointer indexes_ and options_given_
  std::deque<CollectionOptions> options_given_;  // keeps all of them, since readers of the options hold no lock
  std::atomic<const CollectionOptions*> options_;
  CollectionEntry entry_;
  std::shared_ptr<const StoredIndexes> indexes_;
  std::atomic<bool> dropped_{false};
  const std::shared_ptr<Counts> counts_;
  RecordStore records_;
  std::atomic<bool> logged_;              // not is_own()
  std::atomic<RecordId> oldest_hint_{0};  // capped: the last trim found nothing older
  std::atomic<uint32_t> trims_{0};
  InsertTurn turn_;  // used by capped collections
  std::shared_ptr<Collection> view_owned_;
  std::atomic<Collection*> view_{nullptr};
};

std::unique_ptr<CollectionScan> make_collection_scan(std::shared_ptr<StoredCollection> collection, Transaction& transaction,
                                                     Direction direction);

}  // namespace storage
