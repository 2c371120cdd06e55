// Which databases, collections and indexes there are.
//
// The catalog is a table like any other, read whole at start and kept in memory;
// a change is written in a transaction and shown to others after its commit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

#include "storage/collections/collection.h"
#include "storage/collections/replayed_change.h"

namespace storage {

struct CreateIndexesResult {
  int before = 0;
  int after = 0;
};

// Told of each change of the schema within the transaction that makes it: how it gets into the log.
class SchemaSink {
 public:
  virtual ~SchemaSink() = default;
  // `command` as an oplog entry has it: {create: "orders", …}, {drop: "orders"}, {dropDatabase: 1} …
  // `uuid`: 16 bytes of the collection; empty where there is none.
  virtual void schema_changed(Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command) = 0;
};

struct CollectionEntry;
struct IndexEntry;
class StoredCollection;
class StoredIndex;

// Knows the databases whose name carries a ref (shop@dev): views of a database's collections. Thread-safe. What each throws is
// what the catalog's call throws.
class ViewSource {
 public:
  virtual ~ViewSource() = default;
  // nullptr: no such collection. Throw NamespaceNotFound where there is no such ref.
  virtual std::shared_ptr<Collection> open(std::string_view ns) = 0;
  virtual std::vector<std::shared_ptr<Collection>> collections(std::string_view db) = 0;
  // The collection that one of this name is a view of: "shop.c" of "shop@dev.c". Throws IllegalOperation where the ref is
  // read-only.
  virtual std::string home(std::string_view ns) = 0;
  // Whether the database has several views. Each then has a collection or has it not, by itself; the catalog has what any of them
  // has.
  virtual bool has_views(std::string_view db) = 0;
  // Whether that view has the collection. Of no view: true.
  virtual bool has(std::string_view db, const Collection& collection) = 0;
  virtual bool anybody_has(std::string_view db, const Collection& collection) = 0;
  // On a view that can be written to: empty; false: it is there. With its documents; false: it isn't there, and nobody else may
  // be writing to the collection.
  virtual bool make(std::string_view db, const Collection& collection) = 0;
  virtual bool drop(std::string_view db, const Collection& collection, const ReplayedChange* replayed) = 0;
  // No view has it, and after the transaction that took it away nobody will.
  virtual void gone(const Collection& collection) = 0;
  // Before a change of the schema. Throws IllegalOperation, saying `what` can't be, where the database has several views.
  virtual void check_alone(std::string_view db, std::string_view what) = 0;
  // A new collection, which nobody sees yet.
  virtual void created(StoredCollection& collection) = 0;
  // Before indexes of a database with several views change, whose schema lock the caller holds: what views bring to each other
  // waits as writers do.
  virtual std::unique_lock<std::shared_mutex> changing_indexes(std::string_view db) = 0;
  // New unique indexes have their entries, and nobody uses them yet. `ns`: as whoever wants them calls the collection. Throws
  // DuplicateKey where a view that can be written to shows two documents under one key.
  virtual void check_unique(const StoredCollection& collection, const std::vector<std::shared_ptr<StoredIndex>>& built,
                            std::string_view ns, const std::function<void()>& interrupted) = 0;
  // A database goes with all its views: in the transaction, and after it.
  virtual void dropping(Transaction& transaction, std::string_view db) = 0;
  virtual void dropped(std::string_view db) = 0;
};

// Thread-safe. `replayed`: the change that another member logged and that this call replays; nullptr: it is a change of this
// member's own.
class Catalog {
 public:
  virtual ~Catalog() = default;

  // nullptr: no such collection. The upper waist: every reader comes through here.
  // In a database with branches, all that any of them has: where this one hasn't got it, it is empty, and an insert makes it.
  virtual std::shared_ptr<Collection> open(std::string_view ns) const = 0;
  // nullptr also where its branch hasn't got it.
  virtual std::shared_ptr<Collection> find(std::string_view ns) const = 0;
  virtual std::shared_ptr<Collection> open(CollectionId id) const = 0;
  // On a member of a replica set: one that was dropped, while its tables are still there, which they are until the set has agreed
  // on the drop. For who reads what the log names. nullptr: none, or no longer.
  virtual std::shared_ptr<Collection> dropped(CollectionId id) const = 0;

  // `uuid`: 16 bytes, as on another member, where the log says next which branch has it; empty: a new one. Throws NamespaceExists
  // (48), InvalidNamespace (73).
  virtual std::shared_ptr<Collection> create(std::string_view ns, const CollectionOptions& options, BytesView uuid = {},
                                             const ReplayedChange* replayed = nullptr) = 0;
  // Opens it, or creates it with default options.
  virtual std::shared_ptr<Collection> open_or_create(std::string_view ns) = 0;
  // False: was not there. From a branch, and altogether where then no branch or commit has it.
  virtual bool drop(std::string_view ns, const ReplayedChange* replayed = nullptr) = 0;
  // One that no branch or commit has any more. False: somebody has it.
  virtual bool drop_unowned(std::string_view ns) = 0;
  virtual bool drop_database(std::string_view db, const ReplayedChange* replayed = nullptr) = 0;
  // `first` is run while nobody reads or writes in the collection and in the one that it replaces (nullptr: none); what it throws
  // ends the call, and nothing is renamed. Throws NamespaceNotFound (26), NamespaceExists (48).
  using BeforeRename = std::function<void(Collection* renamed, Collection* replaced)>;
  virtual void rename(std::string_view from, std::string_view to, bool drop_target, const BeforeRename& first = nullptr,
                      const ReplayedChange* replayed = nullptr) = 0;

  // Builds what is not there yet; equal ones are left alone. Throws
  // IndexOptionsConflict (85), IndexKeySpecsConflict (86), DuplicateKey … and leaves nothing behind then.
  // `interrupted` is asked between batches and may throw.
  virtual CreateIndexesResult create_indexes(const std::shared_ptr<Collection>& collection, const std::vector<IndexSpec>& specs,
                                             const std::function<void()>& interrupted = nullptr,
                                             const ReplayedChange* replayed = nullptr) = 0;
  virtual void drop_index(const std::shared_ptr<Collection>& collection, std::string_view name,
                          const ReplayedChange* replayed = nullptr) = 0;
  // Every index anew, from the records; the ones that there were serve until all are done. Not in the log: each member has
  // indexes of its own. `interrupted` as above. Throws IllegalOperation where branches or snapshots have the indexes too,
  // DuplicateKey …
  virtual void rebuild_indexes(const std::shared_ptr<Collection>& collection,
                               const std::function<void()>& interrupted = nullptr) = 0;
  // collMod: hidden, expireAfterSeconds.
  virtual void alter_index(const std::shared_ptr<Collection>& collection, const IndexSpec& spec,
                           const ReplayedChange* replayed = nullptr) = 0;
  // collMod: a sub-document of the options, `dedup` or `commits`, as a whole. Holds for contents encoded, and commits made, from
  // now on.
  virtual void alter_option(const std::shared_ptr<Collection>& collection, std::string_view name, bson::DocumentView value,
                            const ReplayedChange* replayed = nullptr) = 0;

  virtual std::vector<std::string> databases() const = 0;                                       // sorted
  virtual std::vector<std::shared_ptr<Collection>> collections(std::string_view db) const = 0;  // sorted by name
  // Without those that the branch hasn't got.
  virtual std::vector<std::shared_ptr<Collection>> found(std::string_view db) const = 0;

  // Runs `work` while nobody writes to the database's collections, reads in them, or changes its schema.
  virtual void alone(std::string_view db,
                     const std::function<void(const std::vector<std::shared_ptr<StoredCollection>>&)>& work) = 0;
  // Asked about databases whose name has an `@`, and before changes of the schema. nullptr: such a name is a name like any other.
  virtual void set_view_source(ViewSource* views) = 0;

  // What a declared snapshot shows. Collections that were dropped since are among them.
  virtual std::map<CollectionId, CollectionEntry> entries_as_of(Transaction& transaction, Stamp snapshot) const = 0;
  // One that is there, or that a declared snapshot shows; nullptr: neither.
  virtual std::shared_ptr<StoredCollection> stored(CollectionId id) const = 0;
  // An index under its description then, over the table it has or had. Not inside a transaction.
  virtual std::shared_ptr<StoredIndex> index_as_of(const StoredCollection& collection, const IndexEntry& entry) = 0;
  // What no declared snapshot shows goes.
  virtual void forget_past() = 0;

  virtual void set_predicate_compiler(PredicateCompiler compiler) = 0;

  // One sink, for the catalog's lifetime; nullptr: nobody listens.
  virtual void set_schema_sink(SchemaSink* sink) = 0;
  // Shows a collection that is kept elsewhere (the oplog) among the others. It can't be dropped or renamed.
  virtual void attach(std::shared_ptr<Collection> collection) = 0;
  // Forgets it again; its holders may go on using it.
  virtual void detach(std::string_view ns) = 0;
};

}  // namespace storage
