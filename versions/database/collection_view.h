// A CollectionView is a collection as one branch, or one commit, shows it.
//
//   records    the collection's own RecordStore: versions of all branches, filtered by what the view shows
//   indexes    the collection's own: entries of all versions, filtered likewise
//   writes     through the BranchStore: a document that others may show becomes another record
//
// A command can do everything to a view that it can do to a collection. In a database that has branches, `shop.c` answers by its
// view of main (storage::StoredCollection::share).
#pragma once

#include <atomic>
#include <optional>
#include <shared_mutex>

#include "base/lru.h"
#include "base/mutex.h"
#include "storage/collections/stored_collection.h"
#include "versions/branch/version_graph.h"

namespace versions {

// A SharedCollection is the part that all views of one collection share. It is thread-safe.
struct SharedCollection {
  SharedCollection(VersionGraph& the_graph, BranchStore& the_store, storage::StoredCollection& the_base, int64_t the_holes)
      : graph(the_graph), store(the_store), base(the_base), holes(the_holes) {}

  VersionGraph& graph;
  BranchStore& store;
  storage::StoredCollection& base;
  const int64_t holes;  // RecordIds below the newest that no record had when the first branch was made

  View view_of(Transaction& transaction, const Branch& branch) const;
  View view_of(Transaction& transaction, CommitNumber commit) const;
  int64_t records(Transaction& transaction, const View& view);
  // The number of records that `view` shows and `other` doesn't.
  int64_t records_beyond(Transaction& transaction, const View& other, const View& view);

 private:
  int64_t holes_in(Transaction& transaction, State state);

  base::Mutex mutex_;
  base::Lru<State, int64_t> counted_ GUARDED_BY(mutex_){64 << 10};  // state -> its number of records
};

// The state that a view shows.
struct ViewPlace {
  std::string branch;            // empty: the view is of a commit
  BranchId id = BranchId::none;  // the branch's; another branch of the same name has another id
  CommitNumber commit = 0;
};

class CollectionView final : public storage::Collection {
 public:
  // `database` keeps alive what `shared` refers to. `base` is nullptr if the collection itself owns the view.
  CollectionView(std::shared_ptr<void> database, std::shared_ptr<SharedCollection> shared,
                 std::shared_ptr<storage::StoredCollection> base, std::string ns, ViewPlace place);

  storage::CollectionId id() const override { return shared_.base.id(); }
  std::string ns() const override { return ns_; }
  std::string uuid_bytes() const override { return shared_.base.uuid_bytes(); }
  const storage::CollectionOptions& options() const override { return shared_.base.options(); }
  bool dropped() const override { return dropped_.load(std::memory_order_acquire) || shared_.base.dropped(); }
  bool read_only() const override { return place_.id == BranchId::none; }
  std::string_view read_only_because() const override { return read_only() ? "only branches can be written to" : ""; }
  base::InterruptibleMutex& schema_mutex() override { return shared_.base.schema_mutex(); }
  storage::Stamp indexes_since() const override { return shared_.base.indexes_since(); }
  std::vector<std::shared_ptr<const storage::Index>> indexes() const override { return shared_.base.indexes(); }
  std::shared_ptr<const storage::Index> index(std::string_view name) const override { return shared_.base.index(name); }

  storage::Stored insert(Transaction& transaction, bson::DocumentView document) override;
  storage::Updated update(Transaction& transaction, RecordId id, bson::DocumentView before, bson::DocumentView after) override;
  storage::Superseded remove(Transaction& transaction, RecordId id, bson::DocumentView before) override;

  std::optional<bson::Document> find(Transaction& transaction, RecordId id, storage::ReadInfo* info) override;
  std::optional<RecordId> current(Transaction& transaction, RecordId id) override;
  bool moves() const override { return true; }
  std::optional<RecordId> find_id(Transaction& transaction, const bson::ValueView& id) override;
  std::optional<Bytes> find_version(Transaction& transaction, const bson::ValueView& id, storage::Stamp generation) override;
  std::unique_ptr<storage::CollectionScan> scan(Transaction& transaction, storage::Direction direction) override;
  std::unique_ptr<storage::IndexCursor> scan(Transaction& transaction, const storage::Index& index,
                                             storage::Direction direction) override;

  RecordStore& records() override { return shared_.base.records(); }
  std::shared_ptr<storage::Collection> home() const override { return base_; }
  int64_t record_count() const override;
  int64_t logical_bytes() const override;  // an estimate, which takes all documents to have the average length
  int64_t stored_records() const override { return shared_.base.stored_records(); }
  int64_t stored_bytes() const override { return shared_.base.stored_bytes(); }

  // Called when the branch is gone.
  void set_dropped() { dropped_.store(true, std::memory_order_release); }

 private:
  View view(Transaction& transaction) const;
  View readable(Transaction& transaction) const;  // a view without pending writes, if the branch has none
  View writable(Transaction& transaction) const;

  const std::shared_ptr<void> database_;
  const std::shared_ptr<SharedCollection> held_;
  SharedCollection& shared_;
  const std::shared_ptr<storage::StoredCollection> base_;
  const std::string ns_;
  const ViewPlace place_;
  std::atomic<bool> dropped_{false};
};

// Removes the index entries of records that a view is about to lose for good (a branch's pending additions). Called in the same
// transaction, before the records go.
void remove_entries(Transaction& transaction, storage::StoredCollection& base, RecordId record, bson::DocumentView document);
// Adds the index entries of a record that didn't come through a view's write, but by a merge for example.
void add_entries(Transaction& transaction, storage::StoredCollection& base, RecordId record, bson::DocumentView document);

}  // namespace versions
