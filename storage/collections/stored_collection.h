// A collection of the catalog: its record store and its indexes, kept in step.
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

  // From now on others show the records too: `view` answers instead for what this collection shows, and writes. It uses the
  // records, the indexes and the calls below, and may not outlive the collection. Once, with the schema lock held exclusively
  // or before anyone else sees the collection.
  void share(std::shared_ptr<Collection> view);
  // As `remove`, of what no snapshot is to show from now on. Of a collection without a view.
  void purge(Transaction& transaction, RecordId id, bson::DocumentView before);
  // The steps of a write that are the same for this collection and for a view of it, in their order: room, its own records and
  // entries with the stamp in between, and the report.
  // Throws OutOfDiskSpace where a document grows by `more_bytes` and the disk's reserve is touched.
  void require_room(int64_t more_bytes) const;
  Stamp take_stamp(Transaction& transaction) const;
  // What became of one record: by how much records and their bytes are more, and, for dedup, what it was and is.
  struct Change {
    int64_t records = 0;
    int64_t bytes = 0;
    Stamp stamp = 0;  // 0: a removal
  };
  void count(Transaction& transaction, const Change& change);
  // The same, and reports to dedup. `superseded`: what the record held before; `document`: what it holds now.
  void written(Transaction& transaction, RecordId record, const Superseded& superseded, const Change& change,
               bson::DocumentView document);
  Engine& engine() const { return engine_; }

  // For the catalog, which holds the schema lock exclusively or is alone with the collection.
  CollectionEntry entry() const;  // as it is to be stored
  void set_entry(const CollectionEntry& entry);
  void set_options(const CollectionOptions& options);
  std::shared_ptr<const StoredIndexes> stored_indexes() const;
  void set_indexes(std::shared_ptr<const StoredIndexes> indexes);
  void set_dropped() { dropped_.store(true, std::memory_order_release); }
  // Puts the document's keys into one index: how it is built.
  void index_document(Transaction& transaction, StoredIndex& index, RecordId record, bson::DocumentView document,
                      const IndexKeys& keys);
  // Makes the counts what they should be; with the schema lock held exclusively.
  void correct_counts(int64_t records, int64_t bytes);
  // Remembered for good before the caller's transaction shows such a key to anyone.
  void note_multikey(StoredIndex& index, uint32_t fields);

 private:
  void add_entries(Transaction& transaction, RecordId record, bson::DocumentView document);
  void remove_entries(Transaction& transaction, RecordId record, bson::DocumentView document);
  void change_entries(Transaction& transaction, RecordId record, bson::DocumentView before, bson::DocumentView after);
  std::vector<bson::Document> trim(Transaction& transaction, RecordId newest);
  Superseded take_away(Transaction& transaction, RecordId id, bson::DocumentView before, Stamp shown);
  void take_turn(Transaction& transaction);
  void report(Transaction& transaction, RecordId record, const Superseded& superseded, Stamp after, bson::DocumentView document);
  // The newest declared snapshot that doesn't show a write with this stamp; 0: none.
  Stamp shown_before(Stamp write) const;
  void save(Transaction& transaction, RecordId record, const Superseded& before, Stamp write) const;

  CollectionServices& services_;
  Engine& engine_;
  const Table catalog_table_;
  const CollectionId id_;
  const Bytes uuid_;
  std::shared_mutex schema_mutex_;
  mutable std::mutex mutex_;                     // of entry_, the pointer indexes_ and options_given_
  std::deque<CollectionOptions> options_given_;  // all of them: who reads the options holds no lock
  std::atomic<const CollectionOptions*> options_;
  CollectionEntry entry_;
  std::shared_ptr<const StoredIndexes> indexes_;
  std::atomic<bool> dropped_{false};
  const std::shared_ptr<Counts> counts_;
  RecordStore records_;
  std::atomic<bool> logged_;              // not is_own()
  std::atomic<RecordId> oldest_hint_{0};  // capped: nothing older was there when last trimmed
  std::atomic<uint32_t> trims_{0};
  InsertTurn turn_;  // capped
  std::shared_ptr<Collection> view_owned_;
  std::atomic<Collection*> view_{nullptr};
};

std::unique_ptr<CollectionScan> make_collection_scan(std::shared_ptr<StoredCollection> collection, Transaction& transaction,
                                                     Direction direction);

}  // namespace storage
