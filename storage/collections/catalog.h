// The catalog lists the databases, collections and indexes.
//
// The catalog is a table like any other. The server reads it whole at start and keeps it in memory; it writes a change in a
// transaction, and shows it to others after the commit.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/interruptible_mutex.h"
#include "storage/collections/collection.h"
#include "storage/collections/replayed_change.h"

namespace storage {

struct CreateIndexesResult {
  int before = 0;
  int after = 0;
};

// A SchemaChange says how a change of the schema is made.
struct SchemaChange {
  // It is called while the change waits for those who use the collection, and between batches of an index build. It may throw;
  // then nothing is changed.
  base::Interrupted interrupted = nullptr;
  // The call replays this change, which another member logged. With nullptr the change is this member's own.
  const ReplayedChange* replayed = nullptr;
  // It is called between batches of an index build, with the records that were read and all that there are.
  std::function<void(int64_t done, int64_t total)> progress = nullptr;
};

// A DroppedCollection is a collection that a member of a replica set has dropped, and whose contents the log may still name.
struct DroppedCollection {
  std::shared_ptr<Collection> collection;
  Stamp created = 0;  // the log names nothing of it before this timestamp
  Stamp dropped = 0;  // the timestamp of the drop
};

// A SchemaSink receives each change of the schema within the transaction that makes the change, and writes it to the log.
class SchemaSink {
 public:
  virtual ~SchemaSink() = default;
  // `command` has the form of an oplog entry: {create: "orders", …}, {drop: "orders"}, {dropDatabase: 1} …; `uuid` is the
  // collection's 16 bytes, or empty when there is no collection. `before` says what the command replaced or removed, as an
  // entry's o2 does; it is empty when there is nothing to say.
  virtual void schema_changed(Transaction& transaction, std::string_view db, BytesView uuid, bson::DocumentView command,
                              bson::DocumentView before) = 0;
};

struct CollectionEntry;
struct IndexEntry;
class StoredCollection;
class StoredIndex;

// A ViewSource knows the databases whose name carries a ref (shop@dev); they are views of a database's collections. It is
// thread-safe. Each call throws what the catalog's call of the same purpose throws.
class ViewSource {
 public:
  virtual ~ViewSource() = default;
  // Returns nullptr when there is no such collection. Both calls throw NamespaceNotFound when there is no such ref.
  virtual std::shared_ptr<Collection> open(std::string_view ns) = 0;
  virtual std::vector<std::shared_ptr<Collection>> collections(std::string_view db) = 0;
  // Returns the name of the collection that the given one is a view of: "shop.c" for "shop@dev.c". Throws IllegalOperation when
  // the ref is read-only.
  virtual std::string home(std::string_view ns) = 0;
  // Returns whether the database has several views. If so, each view has or lacks a collection by itself, and the catalog has
  // every collection that any view has.
  virtual bool has_views(std::string_view db) = 0;
  // Returns whether that view has the collection; true when `db` is no view.
  virtual bool has(std::string_view db, const Collection& collection) = 0;
  virtual bool anybody_has(std::string_view db, const Collection& collection) = 0;
  // Both calls need a view that can be written to. `make` adds the collection, empty, and returns false when the view has it
  // already. `drop` removes it with its documents, and returns false when the view lacks it; nobody else may be writing to the
  // collection.
  virtual bool make(std::string_view db, const Collection& collection) = 0;
  virtual bool drop(std::string_view db, const Collection& collection, const ReplayedChange* replayed) = 0;
  // Reports that no view has the collection any more, and that none will have it after the transaction that removed it.
  virtual void gone(const Collection& collection) = 0;
  // The catalog calls this before a change of the schema. Throws IllegalOperation, with `what` as the thing that can't be done,
  // when the database has several views.
  virtual void check_alone(std::string_view db, std::string_view what) = 0;
  // Reports a new collection, which nobody sees yet.
  virtual void created(StoredCollection& collection) = 0;
  // The catalog calls this before it changes indexes of a database with several views; it holds their schema lock. While the
  // returned lock is held, merges between views wait as writers do.
  virtual base::ExclusiveHold changing_indexes(std::string_view db, const base::Interrupted& interrupted) = 0;
  // The catalog holds this while it drops a collection that no view has, from the question to anybody_has on. The call doesn't
  // wait. It returns an empty hold while views come into being that may have such a collection, which then stays.
  virtual base::ExclusiveHold dropping_unowned(std::string_view db) = 0;
  // The catalog calls this when new unique indexes have their entries and nobody uses them yet. `ns` is the collection's name
  // as the client gave it. Throws DuplicateKey when a view that can be written to shows two documents under one key.
  virtual void check_unique(const StoredCollection& collection, const std::vector<std::shared_ptr<StoredIndex>>& built,
                            std::string_view ns, const std::function<void()>& interrupted) = 0;
  // The catalog drops a database with all its views. It makes the first call in the transaction, the second after it.
  virtual void dropping(Transaction& transaction, std::string_view db) = 0;
  virtual void dropped(std::string_view db) = 0;
};

// The catalog is thread-safe. A change of the schema waits for everybody who uses the collection.
class Catalog {
 public:
  virtual ~Catalog() = default;

  // Returns nullptr when there is no such collection. Every reader comes through this call: it is the upper waist. In a
  // database with branches it finds every collection that any branch has; one that this branch lacks is empty, and an insert
  // creates it on the branch.
  virtual std::shared_ptr<Collection> open(std::string_view ns) const = 0;
  // Returns nullptr also when the name's branch lacks the collection.
  virtual std::shared_ptr<Collection> find(std::string_view ns) const = 0;
  virtual std::shared_ptr<Collection> open(CollectionId id) const = 0;
  // Finds a dropped collection on a member of a replica set, for callers that read what the log names. Returns nullptr when there
  // is none, or no longer: then the log names nothing of it any more.
  virtual std::shared_ptr<Collection> dropped(CollectionId id) const = 0;
  // Returns the dropped collections whose tables stay until `let_go`, the oldest drop first, and only those whose drop the set
  // can't roll back any more.
  virtual std::vector<DroppedCollection> dropped() const = 0;
  // Reports that the log names nothing of such a collection any more. Its tables go, unless a declared snapshot shows them.
  virtual void let_go(CollectionId id) = 0;

  // `uuid` is the collection's 16 bytes on another member, whose log says next which branch has it; when it is empty, the
  // catalog makes a new one. Throws NamespaceExists (48), InvalidNamespace (73).
  virtual std::shared_ptr<Collection> create(std::string_view ns, const CollectionOptions& options, BytesView uuid = {},
                                             const SchemaChange& how = {}) = 0;
  // Opens the collection, or creates it with default options.
  virtual std::shared_ptr<Collection> open_or_create(std::string_view ns, const SchemaChange& how = {}) = 0;
  // Drops a collection from its branch, and altogether when no branch or commit has it then and no commits are arriving from
  // elsewhere. Returns false when it wasn't there.
  virtual bool drop(std::string_view ns, const SchemaChange& how = {}) = 0;
  // Drops a collection that no branch or commit has any more. Returns false when one has it, or may get it from commits that are
  // arriving.
  virtual bool drop_unowned(std::string_view ns) = 0;
  virtual bool drop_database(std::string_view db, const SchemaChange& how = {}) = 0;
  // The catalog runs `first` while nobody reads or writes in the collection or in the one that it replaces (nullptr: none). If
  // `first` throws, the call ends and nothing is renamed. Throws NamespaceNotFound (26), NamespaceExists (48).
  using BeforeRename = std::function<void(Collection* renamed, Collection* replaced)>;
  virtual void rename(std::string_view from, std::string_view to, bool drop_target, const BeforeRename& first = nullptr,
                      const SchemaChange& how = {}) = 0;

  // Builds the indexes that don't exist yet, and leaves equal ones alone. Throws IndexOptionsConflict (85),
  // IndexKeySpecsConflict (86), DuplicateKey …, and leaves nothing behind then.
  virtual CreateIndexesResult create_indexes(const std::shared_ptr<Collection>& collection, const std::vector<IndexSpec>& specs,
                                             const SchemaChange& how = {}) = 0;
  virtual void drop_index(const std::shared_ptr<Collection>& collection, std::string_view name, const SchemaChange& how = {}) = 0;
  // Builds every index anew from the records; the old ones serve until all are done. The log doesn't contain this, since each
  // member has indexes of its own. `interrupted` works as in a SchemaChange. Throws IllegalOperation when branches or snapshots
  // use the indexes too, DuplicateKey …
  virtual void rebuild_indexes(const std::shared_ptr<Collection>& collection, const base::Interrupted& interrupted = nullptr) = 0;
  // collMod changes hidden and expireAfterSeconds by this call.
  virtual void alter_index(const std::shared_ptr<Collection>& collection, const IndexSpec& spec,
                           const SchemaChange& how = {}) = 0;
  // collMod replaces whole options, as `dedup` or `commits`, by this call. `changes` has their new values; if it is empty, the
  // call is logged all the same. The change applies to contents that are encoded, and commits that are made, from now on.
  virtual void alter_options(const std::shared_ptr<Collection>& collection, bson::DocumentView changes,
                             const SchemaChange& how = {}) = 0;

  virtual std::vector<std::string> databases() const = 0;                                       // sorted
  virtual std::vector<std::shared_ptr<Collection>> collections(std::string_view db) const = 0;  // sorted by name
  // Leaves out the collections that the branch lacks.
  virtual std::vector<std::shared_ptr<Collection>> found(std::string_view db) const = 0;

  // Runs `work` while nobody writes to the database's collections, reads in them, or changes its schema. `interrupted` is called
  // while the call waits for that.
  virtual void alone(std::string_view db, const base::Interrupted& interrupted,
                     const std::function<void(const std::vector<std::shared_ptr<StoredCollection>>&)>& work) = 0;
  // The catalog asks `views` about databases whose name has an `@`, and before changes of the schema. With nullptr such a name
  // is a name like any other.
  virtual void set_view_source(ViewSource* views) = 0;

  // Returns the entries that a declared snapshot shows, including collections that were dropped since.
  virtual std::map<CollectionId, CollectionEntry> entries_as_of(Transaction& transaction, Stamp snapshot) const = 0;
  // Finds a collection that exists or that a declared snapshot shows; nullptr: neither.
  virtual std::shared_ptr<StoredCollection> stored(CollectionId id) const = 0;
  // Returns an index with the description that it had in a snapshot, over the table that it has or had. The caller may not be
  // inside a transaction.
  virtual std::shared_ptr<StoredIndex> index_as_of(const StoredCollection& collection, const IndexEntry& entry) = 0;
  // Removes everything that only dropped snapshots showed.
  virtual void forget_past() = 0;

  virtual void set_predicate_compiler(PredicateCompiler compiler) = 0;

  // The catalog has one sink for its lifetime; nullptr: nobody listens.
  virtual void set_schema_sink(SchemaSink* sink) = 0;
  // Shows a collection that is stored elsewhere (the oplog) among the others. It can't be dropped or renamed.
  virtual void attach(std::shared_ptr<Collection> collection) = 0;
  // Forgets an attached collection; its holders may go on using it.
  virtual void detach(std::string_view ns) = 0;
};

}  // namespace storage
