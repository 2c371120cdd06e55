// Past holds what declared snapshots show of an engine's collections (docs/design/0007-past.md).
//
//   past-rows      collection (4, BE), a Maplog's keys        the oldest content that left a row for the chain table
//   past-chains    collection, record, generation -> chain    where a content is kept, if not in its own record's chain
//   past-entries   SavedEntries
//   past-purged    collection, record, generation -> nothing  contents that snapshots no longer show, though mappings name them
//   past-states    SavedStates
//   past-lost      LostPast
//   past-catalog   storage::PastCatalog
//
// The contents stay in their collection's record store. At first they are in their record's row, where they are found without any
// of this. Thread-safe; transactions are not.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <tuple>

#include "base/mutex.h"
#include "storage/contents/pre_states.h"
#include "versions/past/lost_past.h"
#include "versions/past/maplog.h"
#include "versions/past/saved_entries.h"
#include "versions/past/saved_states.h"
#include "versions/past/snapshots.h"

namespace storage {
class Store;
}

namespace storage {
class KeptContents;
}

namespace versions::past {

// A page table that is shared by all who read a snapshot. Thread-safe once it is complete.
struct ShownTable {
  ShownTable() = default;
  explicit ShownTable(PageTable table) : rows(std::move(table)) {}
  // The order that scans go by. It is made once, when the first one asks.
  const std::vector<uint32_t>& order() const {
    std::call_once(ordered_, [this] { order_ = rows.order(); });
    return order_;
  }
  size_t memory_bytes() const { return sizeof *this + rows.memory_bytes() + rows.pages() * sizeof(uint32_t); }

  PageTable rows;

 private:
  mutable std::once_flag ordered_;
  mutable std::vector<uint32_t> order_;
};

// A snapshot's view of a collection's records that were written since, for transactions up to a moment. For an older
// transaction it may have a row too many, whose current content then counts.
struct ShownRows {
  std::shared_ptr<const ShownTable> table;
  ShownTable newer;  // what was written since `table` was made
  Stamp known_below = 0;

  std::optional<Stamp> find(RecordId row) const {
    const auto found = table->rows.find(row);
    return found ? found : newer.rows.find(row);
  }
};

class Past final : public storage::PreStates {
 public:
  explicit Past(storage::Store& store);
  ~Past() override;

  Snapshots& snapshots() { return snapshots_; }
  storage::Store& store() const { return store_; }
  // Must be called before the first snapshot is declared, and not inside a transaction.
  void make();

  void save(Transaction& transaction, storage::StoredCollection& collection, RecordId record, const storage::Superseded& before,
            Stamp write) override;
  void lose(Transaction& transaction, storage::StoredCollection& collection, RecordId record) override;

  std::shared_ptr<const ShownRows> rows(Transaction& transaction, CollectionId collection, Stamp snapshot);
  // Returns whether a reader of one record should look for it in the log without a table (Skippy §4.2's cold mapper). For the
  // first few records of a snapshot that is faster than to make its table. This counts them.
  bool looks_alone(CollectionId collection, Stamp snapshot);
  // Makes the tables of these snapshots, which must be sorted, in one pass, for somebody who reads them one after the other.
  void warm(Transaction& transaction, CollectionId collection, const std::vector<Stamp>& snapshots);
  // The content that a snapshot shows of a record, if the first mapping of its row is `mapping`: the newest content from the
  // mapping's to the snapshot's among those in the chain table. It goes into a buffer that is used again. False: it isn't there,
  // as the transaction sees it. Adds to `info`.
  bool find_content(Transaction& transaction, storage::KeptContents& kept, CollectionId collection, const Mapping& mapping,
                    Stamp snapshot, Bytes& content, storage::ReadInfo* info) const;
  // The same if it must be there: throws DataCorruptionDetected otherwise.
  void read_content(Transaction& transaction, storage::KeptContents& kept, CollectionId collection, const Mapping& mapping,
                    Stamp snapshot, Bytes& content, storage::ReadInfo* info) const;
  // Only the content's generation.
  std::optional<Stamp> shown_generation(Transaction& transaction, storage::StoredCollection& collection, const Mapping& mapping,
                                        Stamp snapshot) const;
  const SavedEntries& entries() const { return entries_; }
  const SavedStates& states() const { return states_; }
  // Throws DataCorruptionDetected if a part of what the snapshot shows of the collection is lost.
  void check_whole(CollectionId collection, Stamp snapshot, std::string_view ns) const;

  // Removes from every snapshot what was kept of the documents with this key in the `_id` index. Returns how many contents that
  // were.
  uint64_t purge(Transaction& transaction, storage::StoredCollection& collection, BytesView key);
  bool purged(CollectionId collection, const Mapping& content) const;
  uint64_t purges() const { return purges_.load(); }  // goes up with each purge, and each lost record
  Maplog log(CollectionId collection) const;

  // Replaces damaged tables by what can be read of them. What snapshots show where rows may be missing can't be read any more
  // (check_whole), but everybody can write again, and snapshots that are declared later are whole. Returns what there is to say.
  // Nobody else may use the store meanwhile. `interrupted` is called now and then, and may throw.
  std::vector<std::string> repair(const std::function<void()>& interrupted);

  // Returns whether there is something to sweep or to seal.
  bool untidy() const;
  // Moves mappings into nodes that nobody can add to any more.
  void seal();
  // Frees what only dropped snapshots showed. `interrupted` is called between batches, and may throw.
  void sweep(const std::function<void()>& interrupted);

  size_t tables_bytes() const;                                               // of the page tables in memory
  uint64_t saved() const { return saved_.load(std::memory_order_relaxed); }  // how many contents were saved since the start

 private:
  struct Known {
    std::shared_ptr<const ShownTable> table;  // nullptr: it isn't made yet
    Stamp below = 0;
    unsigned looked_up = 0;  // how many records were looked up without a table
  };
  void load_purged();
  std::vector<CollectionId> collections_in(const storage::Table& table) const;  // those that have rows in the table
  // Removes from `rows` the logs of which a part may be missing.
  void forget_logs(const storage::Table& rows, const std::vector<Hole>& holes);
  void open_tables();
  void keep_table(const std::string& name, const Known& known);
  void release(CollectionId collection, Stamp from, Stamp end, Stamp shown, const std::function<void()>& interrupted);
  storage::StoredIndexes indexes_ever(const storage::StoredCollection& collection) const;
  // Releases the contents that left a row together, the mapping's first, up to the one in `place`.
  void release_group(Transaction& transaction, storage::StoredCollection& collection, const storage::StoredIndexes& indexes,
                     const Mapping& mapping, Stamp place);
  // Releases them under the name of the newest, and returns all of them.
  std::vector<Mapping> release_one(Transaction& transaction, storage::StoredCollection& collection,
                                   const storage::StoredIndexes& indexes, const Mapping& newest);
  RecordId chain_of(Transaction& transaction, CollectionId collection, const Mapping& mapping) const;
  // Visits what is kept of a record in the chain table, by the newest content of those that left its row together, until `visit`
  // returns false.
  void each_kept(Transaction& transaction, storage::StoredCollection& collection, RecordId record,
                 const std::function<bool(const Mapping&)>& visit) const;
  void forget_gone(size_t swept);
  std::set<RecordId> records_ever(Transaction& transaction, storage::StoredCollection& collection, BytesView key) const;
  std::vector<Mapping> kept_of(Transaction& transaction, storage::StoredCollection& collection, RecordId record,
                               BytesView key) const;
  uint64_t purge_row(Transaction& transaction, storage::StoredCollection& collection, const storage::StoredIndexes& indexes,
                     RecordId record, BytesView key) const;

  storage::Store& store_;
  Snapshots snapshots_;
  std::atomic<bool> made_{false};
  base::Mutex making_;   // one thread makes the tables
  base::Mutex tidying_;  // one thread seals or sweeps at a time
  std::atomic<Stamp> sealed_below_{0};
  LostPast lost_;
  storage::Table rows_, chains_, purged_rows_;
  SavedEntries entries_;
  SavedStates states_;
  mutable base::SharedMutex purged_mutex_;
  std::set<std::tuple<CollectionId, RecordId, Stamp>> purged_ GUARDED_BY(purged_mutex_);
  std::atomic<uint64_t> purges_{0};
  mutable SkippyCache nodes_{16 << 20};
  mutable base::Mutex mutex_;
  base::Lru<std::string, Known> tables_ GUARDED_BY(mutex_){64 << 20};
  std::atomic<uint64_t> saved_{0};
};

}  // namespace versions::past
