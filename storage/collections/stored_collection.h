// StoredCollection is a collection of the catalog: it keeps a record store and its indexes in step.
#pragma once

#include <atomic>
#include <deque>
#include <memory>

#include "base/mutex.h"
#include "storage/collections/catalog_rows.h"
#include "storage/collections/stored_documents.h"
#include "storage/collections/write_observer.h"
#include "storage/engine/counts.h"
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
  base::InterruptibleMutex& schema_mutex() override { return schema_mutex_; }
  Stamp indexes_since() const override { return indexes_since_.load(std::memory_order_acquire); }

  std::vector<std::shared_ptr<const Index>> indexes() const override;
  std::shared_ptr<const Index> index(std::string_view name) const override;

  Stored insert(Transaction& transaction, bson::DocumentView document) override { return shown().insert(transaction, document); }
  Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) override {
    return shown().update(transaction, id, before, after);
  }
  Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) override {
    return shown().remove(transaction, id, before);
  }

  std::optional<bson::Document> find(Transaction& transaction, RecordId id, ReadInfo* info) override;
  std::optional<RecordId> current(Transaction& transaction, RecordId id) override { return shown().current(transaction, id); }
  bool moves() const override { return shown().moves(); }
  std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) override {
    return shown().find_id(transaction, id);
  }
  std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, Stamp generation) override {
    return shown().find_version(transaction, id, generation);
  }

  std::unique_ptr<CollectionScan> scan(Transaction& transaction, Direction direction) override {
    return shown().scan(transaction, direction);
  }
  std::unique_ptr<IndexCursor> scan(Transaction& transaction, const Index& index, Direction direction) override {
    return shown().scan(transaction, index, direction);
  }

  RecordStore& records() override { return records_; }
  int64_t record_count() const override { return shown().record_count(); }
  int64_t logical_bytes() const override { return shown().logical_bytes(); }
  int64_t stored_records() const override { return std::max<int64_t>(0, counts_->records.load(std::memory_order_relaxed)); }
  int64_t stored_bytes() const override { return std::max<int64_t>(0, counts_->bytes.load(std::memory_order_relaxed)); }

  // From this call on others show the records too: `view` decides what this collection shows, and does its writes. It uses the
  // records, the indexes and the calls below, and may not outlive the collection. The caller calls this once, while it holds
  // the schema lock exclusively or before anyone else sees the collection.
  void share(std::shared_ptr<Documents> view);
  // Does the same as `remove` for a document that no snapshot is to show from now on. The collection must have no view.
  void purge(Transaction& transaction, RecordId id, bson::DocumentView before) { own_.purge(transaction, id, before); }
  // These are the steps of a write that this collection and a view of it have in common, in their order: the check for room,
  // the timestamp, and the report. Between the last two the writer changes its own records and entries.
  // Throws OutOfDiskSpace when a document grows by `more_bytes` and the disk's reserve is touched, or when even a write that
  // doesn't grow it finds no room, after a checkpoint.
  void require_room(int64_t more_bytes, size_t written_bytes = 0) const;
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
  // Writes to the collection go to the log of the set: the collection doesn't belong to this member alone.
  bool logged() const { return logged_.load(std::memory_order_relaxed); }
  Engine& engine() const { return engine_; }
  Contents& contents() const { return services_.contents; }

  // The catalog makes these calls; it holds the schema lock exclusively or is alone with the collection.
  CollectionEntry entry() const;  // as the catalog is to store it
  void set_entry(const CollectionEntry& entry);
  // The numbers below are taken, though the entry may have no index of them: their tables may still wait to be dropped.
  void set_next_index(uint32_t number);
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
  void note_multikey(StoredIndex& index, uint32_t fields, const std::vector<std::string>& paths);

 private:
  Documents& shown() const { return *shown_.load(std::memory_order_acquire); }
  void report(Transaction& transaction, RecordId record, const Superseded& superseded, Stamp after, bson::DocumentView document);

  CollectionServices& services_;
  Engine& engine_;
  const Table catalog_table_;
  const CollectionId id_;
  const Bytes uuid_;
  base::InterruptibleMutex schema_mutex_;
  mutable base::Mutex mutex_;
  // All of them are kept, since readers of the options hold no lock.
  std::deque<CollectionOptions> options_given_ GUARDED_BY(mutex_);
  std::atomic<const CollectionOptions*> options_;
  CollectionEntry entry_ GUARDED_BY(mutex_);
  std::shared_ptr<const StoredIndexes> indexes_ GUARDED_BY(mutex_);
  std::atomic<Stamp> indexes_since_{0};
  std::atomic<bool> dropped_{false};
  const std::shared_ptr<Counts> counts_;
  RecordStore records_;
  std::atomic<bool> logged_;  // not is_own()
  StoredDocuments own_{*this};
  std::shared_ptr<Documents> view_;       // set by `share`
  std::atomic<Documents*> shown_{&own_};  // the view, once there is one
};

std::unique_ptr<CollectionScan> make_collection_scan(std::shared_ptr<StoredCollection> collection, Transaction& transaction,
                                                     Direction direction);

}  // namespace storage
