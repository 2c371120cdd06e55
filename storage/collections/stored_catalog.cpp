#include "storage/collections/stored_catalog.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/uuid.h"
#include "bson/builder.h"
#include "storage/collections/clustered.h"
#include "storage/collections/option_changes.h"
#include "storage/collections/state_before.h"
#include "storage/contents/contents.h"
#include "storage/contents/store_tables.h"
#include "storage/engine/internals.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"

namespace storage {
namespace {

using base::ErrorCode;
using base::OperationError;

bson::Document create_command(const CollectionEntry& entry) {
  bson::Builder command;
  command.append("create", collection_of(entry.ns)).append_all(entry.options.document.view());
  if (!entry.options.document[clustered_index_option].exists()) command.append("idIndex", entry.indexes.front().spec);
  return command.done();
}

OperationError exists(std::string_view ns, const char* where = ".") {
  return {ErrorCode::namespace_exists, "Collection " + std::string(ns) + " already exists" + where};
}

OperationError exists_elsewhere(std::string_view ns) {
  return exists(ns, ", with other options, on other branches or in commits");
}

bool has_ref(std::string_view ns) {
  return database_of(ns).find('@') != ns.npos;
}

void check_own(std::string_view ns) {
  if (has_ref(ns))
    throw OperationError(ErrorCode::illegal_operation,
                         "a capped collection has no branches, so there can't be " + std::string(ns));
}

bool same_but_for_case(std::string_view a, std::string_view b) {
  return a != b && std::equal(a.begin(), a.end(), b.begin(), b.end(),
                              [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::shared_ptr<Collection> StoredCatalog::open(std::string_view ns) const {
  {
    const base::ReaderLock lock(mutex_);
    const auto found = by_name_.find(ns);
    if (found != by_name_.end()) return found->second;
  }
  ViewSource* const views = views_;
  return views && has_ref(ns) ? views->open(ns) : nullptr;
}

std::shared_ptr<Collection> StoredCatalog::find(std::string_view ns) const {
  auto collection = open(ns);
  ViewSource* const views = views_;
  return collection && views && !views->has(database_of(ns), *collection) ? nullptr : collection;
}

std::shared_ptr<Collection> StoredCatalog::open(CollectionId id) const {
  const base::ReaderLock lock(mutex_);
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

std::shared_ptr<Collection> StoredCatalog::dropped(CollectionId id) const {
  const base::ReaderLock lock(mutex_);
  for (const DroppedCollection& one : dropped_) {
    if (one.collection->id() == id) return one.collection;
  }
  // A reader may have begun before it was let go.
  for (const Shared& collection : let_go_) {
    if (collection->id() == id && tables_there(*collection)) return collection;
  }
  return nullptr;
}

std::vector<DroppedCollection> StoredCatalog::dropped() const {
  const auto& stable = engine_.internals().stable;
  const Stamp final = stable ? stable->advance().stamp : std::numeric_limits<Stamp>::max();
  std::vector<DroppedCollection> found;
  const base::ReaderLock lock(mutex_);
  std::copy_if(dropped_.begin(), dropped_.end(), std::back_inserter(found),
               [&](const auto& one) { return one.dropped <= final; });
  return found;
}

// The log of a set's member may still name a collection that was dropped.
bool StoredCatalog::stays_for_log(const StoredCollection& collection) const {
  return sink_ && engine_.options().replicated && !is_own(collection.ns());
}

void StoredCatalog::let_go(CollectionId id) {
  const base::MutexLock ddl(ddl_mutex_);
  bool shown = false;
  in_transaction(engine_, [&](Transaction& transaction) {
    remove_entry(transaction, table_, id);
    shown = past_catalog_.newest(transaction, id).has_value();
  });
  {
    const base::WriterLock lock(mutex_);
    const auto is_it = [&](const DroppedCollection& one) { return one.collection->id() == id; };
    const auto found = std::find_if(dropped_.begin(), dropped_.end(), is_it);
    if (found == dropped_.end()) return;
    std::erase_if(let_go_, [&](const Shared& earlier) { return !tables_there(*earlier); });
    let_go_.push_back(std::static_pointer_cast<StoredCollection>(found->collection));
    dropped_.erase(found);
  }
  if (shown) return;
  for (const std::string& table : store_table_names(id)) engine_.drop_table(table);
}

bool StoredCatalog::tables_there(const StoredCollection& collection) const {
  const std::vector<std::string> names = store_table_names(collection.id());
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return std::filesystem::exists(engine_.options().path + "/" + name + ".wt");
  });
}

StoredCatalog::Shared StoredCatalog::stored(std::string_view ns) const {
  return std::dynamic_pointer_cast<StoredCollection>(open(ns));
}

StoredCatalog::Shared StoredCatalog::stored(const std::shared_ptr<Collection>& collection) {
  const std::shared_ptr<Collection> home = collection->home();
  Shared stored = std::dynamic_pointer_cast<StoredCollection>(home ? home : collection);
  if (!stored || collection->read_only()) {
    const std::string why(collection->read_only_because());
    throw OperationError(ErrorCode::illegal_operation,
                         "cannot change the schema of " + collection->ns() + (why.empty() ? "" : ": " + why));
  }
  return stored;
}

std::vector<StoredCatalog::Shared> StoredCatalog::stored_of(std::string_view db) const {
  std::vector<Shared> found;
  for (const auto& collection : collections(db)) {
    if (auto stored = std::dynamic_pointer_cast<StoredCollection>(collection)) found.push_back(std::move(stored));
  }
  return found;
}

StoredCatalog::Held StoredCatalog::hold_all(const std::vector<Shared>& collections, const base::Interrupted& interrupted) {
  std::vector<base::InterruptibleMutex*> mutexes;
  for (const Shared& collection : collections) mutexes.push_back(&collection->schema_mutex());
  return base::hold_exclusively(mutexes, interrupted);
}

// The profiler's collection doesn't count, since it is this member's own: another member may create a collection that conflicts
// with it here.
void StoredCatalog::check_new_name(std::string_view ns) const {
  check_namespace(ns);
  const std::string_view db = database_of(ns);
  const base::ReaderLock lock(mutex_);
  for (const auto& [there, collection] : by_name_) {
    const std::string_view other = database_of(there);
    if (!same_but_for_case(other, db) || collection_of(there) == "system.profile") continue;
    throw OperationError(13297, "db already exists with different case already have: [" + std::string(other) +
                                    "] trying to create [" + std::string(db) + "]");
  }
}

void StoredCatalog::write_over(Transaction& transaction, const StoredCollection& collection, const CollectionEntry& entry) {
  write_entry(transaction, table_, entry);
  const CollectionEntry before = collection.entry();
  save_before(transaction, collection, &before);
}

void StoredCatalog::log(Transaction& transaction, const StoredCollection& collection, bson::DocumentView command,
                        bson::DocumentView before) {
  if (sink_ && !is_own(collection.ns()))
    sink_->schema_changed(transaction, database_of(collection.ns()), collection.uuid_bytes(), command, before);
}

std::shared_ptr<Collection> StoredCatalog::create(std::string_view ns, const CollectionOptions& options, BytesView uuid,
                                                  const SchemaChange& how) {
  ViewSource* const views = views_;
  if (!views || !uuid.empty() || (!has_ref(ns) && !views->has_views(database_of(ns))))
    return create_stored(ns, options, uuid, how);
  return options.capped ? create_capped(*views, ns, options, how) : create_on_branch(*views, ns, options, how);
}

// Capped collections have no versions. In a database with views, only the view under the database's own name has them.
std::shared_ptr<Collection> StoredCatalog::create_capped(ViewSource& views, std::string_view ns, const CollectionOptions& options,
                                                         const SchemaChange& how) {
  check_own(ns);
  const auto there = open(ns);
  if (there && !views.has(database_of(ns), *there)) throw exists_elsewhere(ns);
  return create_stored(ns, options, {}, how);
}

// A collection of this name may exist already for another branch.
std::shared_ptr<Collection> StoredCatalog::create_on_branch(ViewSource& views, std::string_view ns,
                                                            const CollectionOptions& options, const SchemaChange& how) {
  const std::string home = has_ref(ns) ? views.home(ns) : std::string(ns);
  for (;;) {
    const auto there = open(home);
    const Shared collection = there ? stored(there) : create_stored(home, options, {}, how);
    const auto schema = base::hold_shared(collection->schema_mutex(), how.interrupted);
    if (collection->dropped()) continue;
    if (collection->options().capped && !views.has(database_of(ns), *collection)) {
      throw OperationError(ErrorCode::illegal_operation,
                           "there is no " + std::string(ns) + " beside " + home + ", a capped collection, which has no branches");
    }
    const bool as_it_is = options.document.empty() || options.document.bytes() == collection->options().document.bytes();
    if (!as_it_is && !views.has(database_of(ns), *collection)) throw exists_elsewhere(ns);
    if (!views.make(database_of(ns), *collection)) throw exists(ns);
    return open(ns);
  }
}

StoredCatalog::Shared StoredCatalog::create_stored(std::string_view ns, const CollectionOptions& options, BytesView uuid,
                                                   const SchemaChange& how) {
  ViewSource* const views = views_;
  if (open(ns)) throw exists(ns);
  engine_.internals().require_room(DiskUse::growth);  // it may wait, so nothing is locked yet
  const auto creating = base::hold_shared(creating_in(database_of(ns)), how.interrupted);
  const base::MutexLock ddl(ddl_mutex_);
  check_new_name(ns);
  if (open(ns)) throw exists(ns);
  CollectionEntry entry{.id = next_collection_,
                        .ns = std::string(ns),
                        .uuid = uuid.empty() ? base::random_uuid() : Bytes(uuid),
                        .options = options,
                        .indexes = {},
                        .next_index = 2};
  read_option_document(entry.options);
  entry.indexes.push_back({1, id_index_spec(entry.options), true});
  Shared collection = make(entry, std::make_shared<Counts>());
  Stamp created = 0;
  try {
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      write_next_collection(transaction, table_, entry.id + 1);
      write_entry(transaction, table_, entry);
      log(transaction, *collection, create_command(entry));
      save_before(transaction, *collection, nullptr);
      created = transaction.newest_stamp();
    });
  } catch (...) {
    next_collection_ = entry.id + 1;
    collection->set_dropped();
    gone(collection, 0);
    throw;
  }
  next_collection_ = entry.id + 1;
  const InterruptibleWaits uninterrupted(nullptr);  // what is committed is followed to its end
  if (views) views->created(*collection);
  const base::WriterLock lock(mutex_);
  by_name_.emplace(entry.ns, collection);
  by_id_.emplace(entry.id, collection);
  if (stays_for_log(*collection)) created_.emplace(entry.id, created);
  return collection;
}

std::shared_ptr<Collection> StoredCatalog::open_or_create(std::string_view ns, const SchemaChange& how) {
  for (;;) {
    if (auto collection = find(ns)) return collection;
    try {
      return create(ns, {}, {}, how);
    } catch (const OperationError& error) {
      // Another thread has created it in the meantime.
      if (error.code() != ErrorCode::namespace_exists) throw;
    }
  }
}

// The caller calls this within the transaction of the change, once it is logged. Collections that belong only to this member
// have no past.
void StoredCatalog::save_before(Transaction& transaction, const StoredCollection& collection,
                                const CollectionEntry* before) const {
  if (is_own(collection.ns())) return;
  const DeclaredSnapshots& snapshots = services_.contents.snapshots;
  const Stamp stamp = sink_ ? transaction.newest_stamp() : transaction.next_stamp();
  if (snapshots.newest_before(stamp) == 0) return;
  std::optional<CollectionEntry> saved;
  if (before) {
    // The catalog forgets what it knows of an index's keys together with the index. By now the index has met all arrays that
    // snapshots show, so the past keeps that.
    saved = *before;
    for (const auto& index : *collection.stored_indexes()) {
      for (IndexEntry& one : saved->indexes) {
        if (one.number == index->number()) one.multikey_fields = index->multikey_fields();
      }
    }
  }
  past_catalog_.save(transaction, collection.id(), saved ? &*saved : nullptr, snapshots.position_before(stamp));
}

// The caller calls this within the transaction, once the drop is logged: it removes the collection from the tables that all
// collections share. Returns the drop's timestamp if the log may still name contents of the collection, else 0.
Stamp StoredCatalog::forget(Transaction& transaction, const StoredCollection& collection) {
  remove_entry(transaction, table_, collection.id());
  remove_counts(transaction, engine_.internals().counts, collection.id());
  CollectionEntry entry = collection.entry();
  save_before(transaction, collection, &entry);
  if (!stays_for_log(collection)) return 0;
  const Stamp dropped = transaction.newest_stamp();
  entry.indexes.clear();
  write_dropped(transaction, table_, {dropped, std::move(entry)});
  return dropped;
}

// The caller calls this after the commit: nobody finds the collection any more. Its tables go when the last cursor has left, or
// stay until `let_go` if `dropped` is what `forget` returned. `heir` gets the name at the same moment, so that who looks the name
// up finds the one or the other.
void StoredCatalog::gone(const Shared& collection, Stamp dropped, const Shared& heir, const CollectionEntry& entry) {
  const InterruptibleWaits uninterrupted(nullptr);
  bool shown = false;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    shown = past_catalog_.newest(transaction, collection->id()).has_value();
  }
  {
    const base::WriterLock lock(mutex_);
    const auto found = by_name_.find(collection->ns());
    if (found != by_name_.end() && found->second == collection) by_name_.erase(found);
    if (heir) give_name(heir, entry);
    by_id_.erase(collection->id());
    if (shown) past_.emplace(collection->id(), collection);  // at once, since it may be read as of snapshots meanwhile
    const auto created = created_.extract(collection->id());
    if (dropped != 0) dropped_.push_back({collection, created.empty() ? 0 : created.mapped(), dropped});
  }
  collection->set_dropped();
  if (WriteObserver* const observer = services_.observer) observer->dropped(collection);
  if (!shown && dropped == 0) {
    for (const std::string& table : store_table_names(collection->id())) engine_.drop_table(table);
  }
  const auto indexes = collection->stored_indexes();
  for (const auto& index : *indexes) drop_index_table(*collection, *index);
}

void StoredCatalog::give_name(const Shared& collection, const CollectionEntry& entry) {
  by_name_.erase(by_name_.find(collection->ns()));
  collection->set_entry(entry);
  by_name_[entry.ns] = collection;
}

void StoredCatalog::drop_index_table(const StoredCollection& collection, StoredIndex& index) {
  const InterruptibleWaits uninterrupted(nullptr);
  index.set_dropped();
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    if (past_catalog_.lists_index(transaction, collection.id(), index.number())) return;
  }
  engine_.drop_table(index.table().name());
}

bool StoredCatalog::drop(std::string_view ns, bool from_branch, const SchemaChange& how) {
  ViewSource* const views = views_;
  for (;;) {
    const std::string home = views && has_ref(ns) ? views->home(ns) : std::string(ns);
    const Shared collection = stored(home);
    if (!collection) {
      if (open(ns)) throw OperationError(ErrorCode::illegal_operation, "cannot drop " + std::string(ns));
      return false;
    }
    engine_.internals().require_room(DiskUse::release);  // it may wait, so nothing is locked yet
    const auto schema = base::hold_exclusively(collection->schema_mutex(), how.interrupted);
    const base::MutexLock ddl(ddl_mutex_);
    if (stored(home) != collection) continue;  // dropped or renamed while this waited
    const bool capped = collection->options().capped;
    if (capped && views && !views->has(database_of(ns), *collection)) return false;
    const bool has_views = !capped && views && views->has_views(database_of(home));
    if (!has_views && !from_branch) return false;
    const bool was_there = !has_views || !from_branch || views->drop(database_of(ns), *collection, how.replayed);
    // The member that logged a replayed drop has looked whether commits were arriving.
    const bool looks = has_views && !how.replayed;
    const auto alone = looks ? views->dropping_unowned(database_of(home)) : base::ExclusiveHold();
    const bool may_be_arriving = looks && !alone;
    if (has_views && (may_be_arriving || views->anybody_has(database_of(home), *collection))) return from_branch && was_there;
    bson::Builder command;
    command.append("drop", collection_of(home));
    const bson::Document document = command.done();
    Stamp dropped = 0;
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      log(transaction, *collection, document);
      dropped = forget(transaction, *collection);
    });
    const InterruptibleWaits uninterrupted(nullptr);
    if (has_views) views->gone(*collection);  // the views use it until then
    gone(collection, dropped);
    return was_there;
  }
}

bool StoredCatalog::drop_database(std::string_view db, const SchemaChange& how) {
  ViewSource* const views = views_;
  if (views && has_ref(db)) views->check_alone(db, "dropping a database by the name of one of its refs");
  for (;;) {
    const std::vector<Shared> all = stored_of(db);
    if (all.empty()) return false;
    engine_.internals().require_room(DiskUse::release);
    const Held schemas = hold_all(all, how.interrupted);
    const base::MutexLock ddl(ddl_mutex_);
    if (stored_of(db) != all) continue;
    std::vector<Stamp> dropped;
    in_transaction(engine_, [&](Transaction& transaction) {
      dropped.clear();
      transaction.set_replayed(how.replayed);
      transaction.expect_stamps(all.size() + 1);
      for (const Shared& collection : all) {
        bson::Builder command;
        command.append("drop", collection_of(collection->ns()));
        log(transaction, *collection, command.done());
        dropped.push_back(forget(transaction, *collection));
      }
      bson::Builder command;
      command.append("dropDatabase", 1);
      if (views) views->dropping(transaction, db);
      const bool others_have_it = std::any_of(all.begin(), all.end(), [](const Shared& one) { return !is_own(one->ns()); });
      if (sink_ && others_have_it) sink_->schema_changed(transaction, db, {}, command.done(), {});
    });
    const InterruptibleWaits uninterrupted(nullptr);
    if (views) views->dropped(db);  // the views use them until then
    for (size_t i = 0; i < all.size(); ++i) gone(all[i], dropped[i]);
    return true;
  }
}

void StoredCatalog::rename(std::string_view from, std::string_view to, bool drop_target, const BeforeRename& first,
                           const SchemaChange& how) {
  if (from == to) throw OperationError(ErrorCode::illegal_operation, "Can't rename a collection to itself");
  for (;;) {
    const Shared source = stored(from), target = stored(to);
    const bool versioned = !(source && source->options().capped && (!target || target->options().capped));
    const auto check_views = [&] {
      ViewSource* const views = views_;
      if (!views) return;
      if (!versioned) return check_own(to);
      views->check_alone(database_of(from), "renaming a collection");
      views->check_alone(database_of(to), "renaming a collection");
    };
    check_views();
    if (!source)
      throw OperationError(ErrorCode::namespace_not_found, "Source collection " + std::string(from) + " does not exist");
    if (!target && open(to)) throw OperationError(ErrorCode::illegal_operation, "cannot replace " + std::string(to));
    if (target && !drop_target) throw OperationError(ErrorCode::namespace_exists, "target namespace exists");
    std::vector<Shared> both{source};
    if (target) both.push_back(target);
    const Held schemas = hold_all(both, how.interrupted);
    if (first) {
      // From here on both keep their names, since a rename takes their locks.
      if (stored(from) != source || stored(to) != target) continue;
      first(source.get(), target.get());
    }
    const base::MutexLock ddl(ddl_mutex_);
    if (stored(from) != source || stored(to) != target) continue;
    check_views();  // it may have got branches since
    check_new_name(to);
    CollectionEntry entry = source->entry();
    entry.ns = to;
    bson::Builder command;
    command.append("renameCollection", from).append("to", to).append("stayTemp", false);
    if (target) command.append("dropTarget", bson::Binary{4, target->uuid_bytes()});
    const bson::Document document = command.done();
    Stamp dropped = 0;
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      log(transaction, *source, document);
      if (target) dropped = forget(transaction, *target);
      write_over(transaction, *source, entry);
    });
    if (target) {
      gone(target, dropped, source, entry);
      return;
    }
    const base::WriterLock lock(mutex_);
    give_name(source, entry);
    return;
  }
}

void StoredCatalog::alter_options(const std::shared_ptr<Collection>& given, bson::DocumentView changes, const SchemaChange& how) {
  const Shared collection = stored(given);
  const auto schema = base::hold_exclusively(collection->schema_mutex(), how.interrupted);
  if (collection->dropped()) throw OperationError(ErrorCode::namespace_not_found, "ns does not exist");
  const base::MutexLock ddl(ddl_mutex_);
  CollectionEntry entry = collection->entry();
  bson::Builder command;
  command.append("collMod", collection_of(entry.ns)).append_all(changes);
  const bson::Document document = command.done(), before = state_before(entry, {});
  alter_option_document(entry.options, changes);
  in_transaction(engine_, [&](Transaction& transaction) {
    transaction.set_replayed(how.replayed);
    log(transaction, *collection, document, before);
    write_over(transaction, *collection, entry);
  });
  collection->set_entry(entry);
  collection->set_options(entry.options);
}

std::vector<std::string> StoredCatalog::databases() const {
  const base::ReaderLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [ns, collection] : by_name_) names.emplace_back(database_of(ns));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::shared_ptr<Collection>> StoredCatalog::collections(std::string_view db) const {
  if (ViewSource* const views = views_; views && has_ref(db)) return views->collections(db);
  const std::string prefix = std::string(db) + ".";
  std::vector<std::shared_ptr<Collection>> found;
  const base::ReaderLock lock(mutex_);
  for (auto at = by_name_.lower_bound(prefix); at != by_name_.end() && at->first.starts_with(prefix); ++at)
    found.push_back(at->second);
  return found;
}

std::vector<std::shared_ptr<Collection>> StoredCatalog::found(std::string_view db) const {
  auto all = collections(db);
  if (ViewSource* const views = views_) std::erase_if(all, [&](const auto& one) { return !views->has(db, *one); });
  return all;
}

void StoredCatalog::alone(std::string_view db, const base::Interrupted& interrupted,
                          const std::function<void(const std::vector<Shared>&)>& work) {
  for (;;) {
    const std::vector<Shared> all = stored_of(db);
    const Held schemas = hold_all(all, interrupted);
    const auto creating = base::hold_exclusively(creating_in(db), interrupted);
    if (stored_of(db) == all) return work(all);
  }
}

void StoredCatalog::attach(std::shared_ptr<Collection> collection) {
  const base::WriterLock lock(mutex_);
  by_id_[collection->id()] = collection;
  by_name_[collection->ns()] = std::move(collection);
}

void StoredCatalog::detach(std::string_view ns) {
  const base::WriterLock lock(mutex_);
  const auto found = by_name_.find(ns);
  if (found == by_name_.end() || dynamic_cast<StoredCollection*>(found->second.get())) return;
  by_id_.erase(found->second->id());
  by_name_.erase(found);
}

}  // namespace storage
