// StoredCatalog is the catalog as the table `catalog` stores it.
//
// A thread takes locks in this order: schema locks of collections, then creating_, then ddl_mutex_, then mutex_. A thread that
// needs several schema locks holds none while it waits for one, since readers may hold one while they wait for another.
#pragma once

#include <array>
#include <map>
#include <unordered_map>

#include "base/mutex.h"
#include "storage/collections/catalog.h"
#include "storage/collections/past_catalog.h"
#include "storage/collections/stored_collection.h"

namespace storage {

class StoredCatalog final : public Catalog {
 public:
  // Reads what is stored, and removes what a crash left half made.
  StoredCatalog(Contents& contents, PastCatalog& past);
  // Sets the observer that receives all writes from now on; nullptr: none.
  void set_write_observer(WriteObserver* observer) { services_.observer = observer; }

  std::shared_ptr<Collection> open(std::string_view ns) const override;
  std::shared_ptr<Collection> find(std::string_view ns) const override;
  std::shared_ptr<Collection> open(CollectionId id) const override;
  std::shared_ptr<Collection> dropped(CollectionId id) const override;
  std::vector<DroppedCollection> dropped() const override;
  void let_go(CollectionId id) override;
  std::shared_ptr<Collection> create(std::string_view ns, const CollectionOptions& options, BytesView uuid,
                                     const SchemaChange& how) override;
  std::shared_ptr<Collection> open_or_create(std::string_view ns, const SchemaChange& how) override;
  bool drop(std::string_view ns, const SchemaChange& how) override { return drop(ns, true, how); }
  bool drop_unowned(std::string_view ns) override { return drop(ns, false, {}); }
  bool drop_database(std::string_view db, const SchemaChange& how) override;
  void rename(std::string_view from, std::string_view to, bool drop_target, const BeforeRename& first,
              const SchemaChange& how) override;

  CreateIndexesResult create_indexes(const std::shared_ptr<Collection>& collection, const std::vector<IndexSpec>& specs,
                                     const SchemaChange& how) override;
  void rebuild_indexes(const std::shared_ptr<Collection>& collection, const base::Interrupted& interrupted) override {
    rebuild_indexes(collection, SchemaChange{.interrupted = interrupted});
  }
  void rebuild_indexes(const std::shared_ptr<Collection>& collection, const SchemaChange& how);
  void drop_index(const std::shared_ptr<Collection>& collection, std::string_view name, const SchemaChange& how) override;
  void alter_index(const std::shared_ptr<Collection>& collection, const IndexSpec& spec, const SchemaChange& how) override;
  void alter_options(const std::shared_ptr<Collection>& collection, bson::DocumentView changes, const SchemaChange& how) override;

  std::vector<std::string> databases() const override;
  std::vector<std::shared_ptr<Collection>> collections(std::string_view db) const override;
  std::vector<std::shared_ptr<Collection>> found(std::string_view db) const override;
  void alone(std::string_view db, const base::Interrupted& interrupted,
             const std::function<void(const std::vector<std::shared_ptr<StoredCollection>>&)>& work) override;
  void set_view_source(ViewSource* views) override { views_ = views; }
  std::map<CollectionId, CollectionEntry> entries_as_of(Transaction& transaction, Stamp snapshot) const override;
  std::shared_ptr<StoredCollection> stored(CollectionId id) const override;
  std::shared_ptr<StoredIndex> index_as_of(const StoredCollection& collection, const IndexEntry& entry) override;
  void forget_past() override;
  void set_predicate_compiler(PredicateCompiler compiler) override;
  void set_schema_sink(SchemaSink* sink) override { sink_ = sink; }
  void attach(std::shared_ptr<Collection> collection) override;
  void detach(std::string_view ns) override;

 private:
  using Held = std::vector<base::ExclusiveHold>;
  using Shared = std::shared_ptr<StoredCollection>;

  // catalog_load.cpp implements these.
  void load() REQUIRES(ddl_mutex_, mutex_);
  void load_past() REQUIRES(mutex_);
  void load_dropped(std::vector<DroppedEntry> entries) REQUIRES(mutex_);
  Shared make(CollectionEntry entry, std::shared_ptr<Counts> counts);
  void remove_orphans() REQUIRES(mutex_);

  // stored_catalog.cpp implements these.
  Shared stored(std::string_view ns) const;  // nullptr: there is none, or it is attached
  // Given a view, returns the collection that it is a view of; throws for an attached collection.
  static Shared stored(const std::shared_ptr<Collection>& collection);
  std::vector<Shared> stored_of(std::string_view db) const;
  static Held hold_all(const std::vector<Shared>& collections, const base::Interrupted& interrupted);
  void check_new_name(std::string_view ns) const REQUIRES(ddl_mutex_);
  base::InterruptibleMutex& creating_in(std::string_view db) {
    return creating_[std::hash<std::string_view>()(db) % creating_.size()];
  }
  bool drop(std::string_view ns, bool from_branch, const SchemaChange& how);
  Shared create_stored(std::string_view ns, const CollectionOptions& options, BytesView uuid, const SchemaChange& how);
  std::shared_ptr<Collection> create_capped(ViewSource& views, std::string_view ns, const CollectionOptions& options,
                                            const SchemaChange& how);
  std::shared_ptr<Collection> create_on_branch(ViewSource& views, std::string_view ns, const CollectionOptions& options,
                                               const SchemaChange& how);
  Stamp forget(Transaction& transaction, const StoredCollection& collection);
  void gone(const Shared& collection, Stamp dropped, const Shared& heir = nullptr, const CollectionEntry& entry = {});
  void give_name(const Shared& collection, const CollectionEntry& entry) REQUIRES(mutex_);
  bool stays_for_log(const StoredCollection& collection) const;
  void drop_index_table(const StoredCollection& collection, StoredIndex& index);
  bool past_shows(const std::string& table, CollectionId owner) const;
  void save_before(Transaction& transaction, const StoredCollection& collection, const CollectionEntry* before) const;
  void write_over(Transaction& transaction, const StoredCollection& collection, const CollectionEntry& entry);
  bool tables_there(const StoredCollection& collection) const;
  void log(Transaction& transaction, const StoredCollection& collection, bson::DocumentView command,
           bson::DocumentView before = {});

  // index_changes.cpp implements these.
  std::shared_ptr<StoredIndex> make_index(CollectionId collection, const IndexEntry& entry);
  // Does the same whether or not the index's table exists.
  std::shared_ptr<StoredIndex> describe_index(CollectionId collection, const IndexEntry& entry);
  std::shared_ptr<const DocumentPredicate> compile(const IndexSpec& spec) const;
  base::ExclusiveHold changing_indexes(const StoredCollection& collection, const base::Interrupted& interrupted) const;
  void finish_indexes(const Shared& collection, const CollectionEntry& entry, const StoredIndexes& built,
                      const SchemaChange& how);
  void abandon_indexes(const Shared& collection, const CollectionEntry& before, const StoredIndexes& begun);

  // index_unique.cpp implements these. `entry` has the new index last.
  void make_unique(const Shared& collection, const std::string& ns, const std::shared_ptr<StoredIndex>& before,
                   const IndexSpec& spec, const SchemaChange& how);
  void replace_index(const Shared& collection, const std::shared_ptr<StoredIndex>& before,
                     const std::shared_ptr<StoredIndex>& after, CollectionEntry entry, const bson::Document& command,
                     const SchemaChange& how);

  // index_rebuild.cpp implements this.
  void take_over(const Shared& collection, const CollectionEntry& begun, const std::shared_ptr<StoredIndexes>& built);

  CollectionServices services_;
  Engine& engine_;
  PastCatalog& past_catalog_;
  Table table_;
  // Shared while a collection is created in one of the databases whose names have this place; alone() holds it exclusively.
  std::array<base::InterruptibleMutex, 64> creating_;
  base::Mutex ddl_mutex_;  // allows one change of the schema at a time
  CollectionId next_collection_ GUARDED_BY(ddl_mutex_) = 1;
  SchemaSink* sink_ = nullptr;  // it and compiler_ are set while nobody changes the schema
  PredicateCompiler compiler_;
  std::atomic<ViewSource*> views_{nullptr};

  mutable base::SharedMutex mutex_;
  std::map<std::string, std::shared_ptr<Collection>, std::less<>> by_name_ GUARDED_BY(mutex_);
  std::unordered_map<CollectionId, std::shared_ptr<Collection>> by_id_ GUARDED_BY(mutex_);
  std::vector<DroppedCollection> dropped_ GUARDED_BY(mutex_);           // in the order of the drops; their tables stay
  std::vector<Shared> let_go_ GUARDED_BY(mutex_);                       // dropped, and their tables may still exist
  std::unordered_map<CollectionId, Stamp> created_ GUARDED_BY(mutex_);  // since the start
  std::unordered_map<CollectionId, Shared> past_ GUARDED_BY(mutex_);    // dropped, but declared snapshots show them
};

// Puts every record's keys into the indexes. Throws DuplicateKey and what index_keys throws; the caller then removes what was
// begun. `interrupted` and `progress` work as in a SchemaChange.
void build_indexes(Engine& engine, StoredCollection& collection, const StoredIndexes& indexes, KeyLimits limits,
                   const std::function<void()>& interrupted,
                   const std::function<void(int64_t done, int64_t total)>& progress = nullptr);

// Returns those of `specs` that don't exist yet. Throws IndexOptionsConflict (85), IndexKeySpecsConflict (86).
std::vector<IndexSpec> missing_indexes(const StoredCollection& collection, const std::vector<IndexSpec>& specs);

}  // namespace storage
