#include "versions/database/databases.h"

#include <set>

#include "storage/collections/past_catalog.h"
#include "storage/engine/drop_now.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"
#include "storage/store.h"
#include "versions/database/database_rows.h"
#include "versions/log/branch_change.h"
#include "versions/log/snapshot_entries.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;
using storage::Catalog;
using storage::StoredCollection;

namespace {

constexpr std::string_view table_name = "versions-databases";
constexpr std::string_view unfinished_prefix = "tmp.agg_out.";  // such a collection takes another one's place when it is done

std::string home_of(std::string_view ns) {
  return std::string(split_name(storage::database_of(ns)).database) + "." + std::string(storage::collection_of(ns));
}

}  // namespace

Databases::Databases(storage::Store& store, past::Past& past, storage::BranchLog* log) : store_(store), log_(log), past_(past) {
  load();
  remove_orphans();
  store_.catalog().set_view_source(this);
}

Databases::~Databases() {
  store_.catalog().set_view_source(nullptr);
  for (const auto& [name, database] : databases_) database->forget_all_views();
}

void Databases::load() {
  const std::vector<std::string> tables = store_.engine().table_names();
  if (std::find(tables.begin(), tables.end(), table_name) == tables.end()) return;
  table_ = store_.engine().open_table(std::string(table_name), {.allocation_bytes = 512, .copied = true});
  std::map<std::string, DatabaseRow> rows;
  {
    Transaction transaction(store_, Transaction::Mode::read);
    storage::TableCursor cursor = table_.cursor(transaction);
    for (bool on = cursor.seek("d"); on && cursor.key().starts_with('d'); on = cursor.next()) {
      rows.emplace(cursor.key().substr(1), read_database_row(cursor.value()));
    }
  }
  for (const auto& [name, row] : rows) {
    auto database = std::make_shared<BranchedDatabase>(past_.past(), log_, name, row.number, nodes_);
    for (const auto& one : store_.catalog().collections(name)) {
      auto& collection = dynamic_cast<StoredCollection&>(*one);
      if (!has_versions(collection)) continue;
      const auto holes = row.holes.find(collection.id());
      database->add(collection, holes == row.holes.end() ? 0 : holes->second);
      database->share(collection);
    }
    databases_.emplace(name, std::move(database));
  }
  load_kept();
}

void Databases::load_kept() {
  std::vector<KeptDatabaseRow> rows, gone;
  {
    Transaction transaction(store_, Transaction::Mode::read);
    storage::TableCursor cursor = table_.cursor(transaction);
    for (bool on = cursor.seek("k"); on && cursor.key().starts_with('k'); on = cursor.next()) {
      KeptDatabaseRow row = read_kept_row(cursor.key(), cursor.value());
      std::erase_if(row.collections, [&](const auto& id) { return !shown_by_any_snapshot(transaction, id); });
      const bool shown = !row.collections.empty() || BranchesPast::shown_by_any_snapshot(past_.past(), transaction, row.number);
      (shown ? rows : gone).push_back(std::move(row));
    }
  }
  for (const KeptDatabaseRow& row : gone) {
    storage::in_transaction(
        store_, [&](Transaction& transaction) { table_.remove(transaction, kept_database_key(row.number, row.name)); });
  }
  for (const KeptDatabaseRow& row : rows) {
    Kept kept{std::make_shared<BranchedDatabase>(past_.past(), log_, row.name, row.number, nodes_), {}};
    for (const storage::CollectionId id : row.collections) {
      const auto collection = store_.catalog().stored(id);
      if (!collection) database_list_is_damaged();
      kept.database->add(*collection, 0);
      kept.database->share(*collection);
      kept.collections.push_back(collection);
    }
    kept.database->close();
    kept_.emplace(row.number, std::move(kept));
  }
}

// Removes tables of a database that was dropped, or never begun, when the process ended.
void Databases::remove_orphans() {
  std::set<std::string> used{std::string(table_name)};
  for (const auto& [name, database] : databases_) {
    const auto names = database->table_names();
    used.insert(names.begin(), names.end());
  }
  for (const auto& [number, kept] : kept_) {
    const auto names = kept.database->table_names();
    used.insert(names.begin(), names.end());
  }
  for (const std::string& table : store_.engine().table_names()) {
    if (table.starts_with("versions-") && !used.contains(table)) storage::drop_now(store_, table);
  }
}

std::shared_ptr<BranchedDatabase> Databases::find(std::string_view name) const {
  const base::ReaderLock lock(mutex_);
  const auto found = databases_.find(name);
  return found == databases_.end() ? nullptr : found->second;
}

std::shared_ptr<BranchedDatabase> Databases::need(std::string_view db) const {
  const DatabaseName name = split_name(db);
  auto database = find(name.database);
  if (database) return database;
  throw OperationError(ErrorCode::namespace_not_found,
                       "database '" + std::string(name.database) +
                           "' has no branches, and there is no snapshot of that name, so there is no '" + std::string(db) + "'");
}

// A name of a branch, a tag or a commit doesn't name a snapshot.
std::optional<Databases::Then> Databases::snapshot_behind(std::string_view db) const {
  const DatabaseName name = split_name(db);
  if (!name.ref) return std::nullopt;
  if (const size_t at = name.ref->find('@'); at != name.ref->npos) {
    const Ref branch = parse_ref(name.ref->substr(0, at)), when = parse_ref(name.ref->substr(at + 1));
    if (!branch.steps.empty() || !when.steps.empty()) {
      throw OperationError(ErrorCode::bad_value,
                           "'" + std::string(*name.ref) + "' is no branch in a snapshot: neither has a ~ or ^ behind it");
    }
    auto snapshot = past_.find(when.name);
    if (!snapshot) throw OperationError(ErrorCode::namespace_not_found, "there is no snapshot '" + when.name + "'");
    return Then{std::move(*snapshot), branch.name};
  }
  const Ref ref = parse_ref(*name.ref);
  if (!ref.steps.empty()) return std::nullopt;
  const auto database = find(name.database);
  if (database) {
    Transaction transaction(store_, Transaction::Mode::read);
    try {
      database->place(transaction, ref);
      return std::nullopt;
    } catch (const OperationError& error) {
      if (error.code() != ErrorCode::namespace_not_found) throw;
    }
  }
  auto snapshot = past_.find(ref.name);
  if (!snapshot) return std::nullopt;
  return Then{std::move(*snapshot), std::string(BranchedDatabase::main)};
}

PastViews::BranchThen Databases::branch_of(std::string_view db, const Then& then) const {
  const std::string name(split_name(db).database);
  auto database = find(name);
  Transaction transaction(store_, Transaction::Mode::read);  // it begins after the snapshot, so it sees what was saved since
  std::optional<uint32_t> number = database ? std::optional(database->number()) : std::nullopt;
  if (const auto other = BranchesPast::database(past_.past(), transaction, name, then.snapshot.stamp)) number = *other;
  const auto unknown = [&] {
    return OperationError(
        ErrorCode::namespace_not_found,
        "there is no '" + std::string(db) + "': in that snapshot the database has no branch '" + then.branch + "'");
  };
  if (!number) {
    if (then.branch != BranchedDatabase::main) throw unknown();
    return {};
  }
  if (!database || database->number() != *number) database = find_kept(*number);
  if (!database)
    throw OperationError(ErrorCode::namespace_not_found,
                         "there is no '" + std::string(db) + "': what the database's branches were then is gone");
  auto branch = database->branch_then(transaction, then.branch, then.snapshot.stamp);
  if (!branch) throw unknown();
  return {[database, branch = std::move(*branch), stamp = then.snapshot.stamp](storage::CollectionId collection) {
            return database->shown_then(collection, branch, stamp);
          },
          then.branch == BranchedDatabase::main};
}

std::vector<std::shared_ptr<BranchedDatabase>> Databases::all() const {
  std::vector<std::shared_ptr<BranchedDatabase>> all;
  const base::ReaderLock lock(mutex_);
  for (const auto& [name, database] : databases_) all.push_back(database);
  return all;
}

std::shared_ptr<void> Databases::receive_first(const std::string& name) {
  const base::MutexLock lock(receiving_mutex_);
  const auto at = receiving_.insert(name);
  return std::shared_ptr<void>(nullptr, [this, at](void*) {
    const base::MutexLock again(receiving_mutex_);
    receiving_.erase(at);
  });
}

bool Databases::receives_first(std::string_view name) const {
  const base::MutexLock lock(receiving_mutex_);
  return receiving_.contains(name);
}

Databases::Begun Databases::find_or_begin(const std::string& name, const CommitInfo& info, Stamp given,
                                          const storage::SchemaChange& how) {
  if (auto database = find(name)) return {std::move(database)};
  if (name == "local" || name == "admin" || name == "config") {
    throw OperationError(ErrorCode::illegal_operation, "database '" + name + "' can't have branches");
  }
  Begun begun;
  store_.catalog().alone(name, how.interrupted, [&](std::vector<std::shared_ptr<StoredCollection>> collections) {
    if ((begun.database = find(name))) return;
    if (collections.empty()) throw OperationError(ErrorCode::namespace_not_found, "database '" + name + "' does not exist");
    for (const auto& collection : collections) {
      if (storage::collection_of(collection->ns()).starts_with(unfinished_prefix)) {
        throw OperationError(ErrorCode::object_is_busy,
                             "an aggregation with $out is under way in the database; try again when it is done");
      }
    }
    std::erase_if(collections, [](const auto& collection) { return !has_versions(*collection); });
    if (!table_.exists()) table_ = store_.engine().open_table(std::string(table_name), {.allocation_bytes = 512, .copied = true});
    DatabaseRow row;
    {
      Transaction transaction(store_, Transaction::Mode::read);
      const auto next = table_.get(transaction, next_database_key);
      row.number = next ? read_next_database(*next) : 1;
    }
    auto database = std::make_shared<BranchedDatabase>(past_.past(), log_, name, row.number, nodes_);
    for (const auto& collection : collections) {
      Transaction transaction(store_, Transaction::Mode::read);
      auto cursor = collection->records().cursor(transaction, storage::Direction::backward);
      const int64_t newest = cursor.next() ? cursor.id() : 0;
      row.holes[collection->id()] = std::max<int64_t>(0, newest - collection->stored_records());
    }
    for (const auto& collection : collections) database->add(*collection, row.holes[collection->id()]);
    storage::in_transaction(store_, [&](Transaction& transaction) {
      transaction.set_next_stamp(given);
      transaction.set_replayed(how.replayed);
      BranchesPast::database_changing(past_.past(), transaction, name, std::nullopt);
      table_.put(transaction, next_database_key, write_next_database(row.number + 1));
      table_.put(transaction, database_key(name), write_database_row(row));
      database->begin(transaction, info);
      begun.logged = transaction.newest_stamp();
    });
    const storage::InterruptibleWaits uninterrupted(nullptr);  // what is committed is followed to its end
    for (const auto& collection : collections) database->share(*collection);
    const base::WriterLock lock(mutex_);
    databases_[name] = database;
    begun.database = std::move(database);
    begun.is_new = true;
  });
  return begun;
}

std::shared_ptr<storage::Collection> Databases::open(std::string_view ns) {
  const std::string_view db = storage::database_of(ns);
  if (const auto branched = find(split_name(db).database)) {
    if (auto view = branched->known_view(ns)) return view;
  }
  if (const auto then = snapshot_behind(db)) {
    return past_.open(then->snapshot, ns, home_of(ns), [&] { return branch_of(db, *then); });
  }
  const auto database = need(db);
  const Ref ref = parse_ref(*split_name(db).ref);
  auto base = std::dynamic_pointer_cast<StoredCollection>(store_.catalog().open(home_of(ns)));
  Transaction transaction(store_, Transaction::Mode::read);
  if (!base) return database->place(transaction, ref), nullptr;
  return database->view(transaction, ref, std::string(ns), std::move(base));
}

std::vector<std::shared_ptr<storage::Collection>> Databases::collections(std::string_view db) {
  if (const auto then = snapshot_behind(db)) {
    return past_.collections(then->snapshot, db, split_name(db).database, [&] { return branch_of(db, *then); });
  }
  const auto database = need(db);
  const Ref ref = parse_ref(*split_name(db).ref);
  Transaction transaction(store_, Transaction::Mode::read);
  database->place(transaction, ref);
  std::vector<std::shared_ptr<storage::Collection>> views;
  for (const auto& one : store_.catalog().collections(database->name())) {
    auto base = std::dynamic_pointer_cast<StoredCollection>(one);
    if (!base) continue;
    const std::string own = base->ns();
    auto view =
        database->view(transaction, ref, std::string(db) + "." + std::string(storage::collection_of(own)), std::move(base));
    if (view) views.push_back(std::move(view));
  }
  return views;
}

std::string Databases::home(std::string_view ns) {
  const std::string_view db = storage::database_of(ns);
  if (snapshot_behind(db))
    throw OperationError(ErrorCode::illegal_operation, "cannot write to " + std::string(ns) + ": a snapshot is read-only");
  const auto database = need(db);
  Transaction transaction(store_, Transaction::Mode::read);
  if (!database->place(transaction, parse_ref(*split_name(db).ref)).branch) {
    throw OperationError(ErrorCode::illegal_operation,
                         "cannot write to " + std::string(ns) + ": only branches can be written to");
  }
  return home_of(ns);
}

bool Databases::has(std::string_view db, const storage::Collection& collection) {
  const auto database = find(split_name(db).database);
  if (!database || snapshot_behind(db)) return true;
  if (!has_versions(collection)) return !split_name(db).ref;
  Transaction transaction(store_, Transaction::Mode::read);
  return database->has(transaction, database->place(transaction, ref_of_database(db)), collection.id());
}

bool Databases::anybody_has(std::string_view db, const storage::Collection& collection) {
  if (!has_versions(collection)) return true;
  Transaction transaction(store_, Transaction::Mode::read);
  return need(db)->anybody_has(transaction, collection.id());
}

BranchedDatabase::Lost Databases::lost() const {
  return [log = log_](Transaction& transaction, storage::CollectionId collection, RecordId record, Stamp generation,
                      BytesView content) {
    if (log) log->content_lost(transaction, collection, record, {generation, Bytes(content)});
  };
}

void Databases::drop_branch(BranchedDatabase& database, const std::string& name) {
  const storage::InterruptibleWaits uninterrupted(nullptr);
  storage::in_transaction(store_, [&](Transaction& transaction) { database.drop(transaction, name, lost()); });
  database.forget_views(name);
}

bool Databases::change(std::string_view db, const std::function<bool(Transaction&, BranchedDatabase&, const Branch&)>& work,
                       const storage::ReplayedChange* replayed) {
  const auto database = need(db);
  return storage::in_transaction(store_, [&](Transaction& transaction) {
    transaction.set_replayed(replayed);
    return work(transaction, *database, database->branch(transaction, ref_of_database(db)));
  });
}

bool Databases::make(std::string_view db, const storage::Collection& collection) {
  return change(db, [&](Transaction& transaction, BranchedDatabase& database, const Branch& branch) {
    return database.make_collection(transaction, branch, collection.id());
  });
}

bool Databases::drop(std::string_view db, const storage::Collection& collection, const storage::ReplayedChange* replayed) {
  const auto work = [&](Transaction& transaction, BranchedDatabase& database, const Branch& branch) {
    return database.drop_collection(transaction, branch, collection.id(), lost());
  };
  return change(db, work, replayed);
}

void Databases::gone(const storage::Collection& collection) {
  for (const std::string& table : need(storage::database_of(collection.ns()))->remove(collection.id()))
    store_.engine().drop_table(table);
}

void Databases::check_alone(std::string_view db, std::string_view what) {
  const DatabaseName name = split_name(db);
  if (snapshot_behind(db))
    throw OperationError(ErrorCode::illegal_operation,
                         std::string(what) + " isn't possible in " + std::string(db) + ": a snapshot is read-only");
  if (name.ref) need(db);
  if (!find(name.database)) return;
  throw OperationError(ErrorCode::illegal_operation,
                       std::string(what) + " isn't supported in a database that has branches: " + std::string(name.database));
}

void Databases::created(StoredCollection& collection) {
  if (!has_versions(collection)) return;
  const std::string ns = collection.ns();
  const auto database = find(storage::database_of(ns));
  if (!database) return;
  database->add(collection, 0);
  database->share(collection);
}

void Databases::check_unique(const StoredCollection& collection, const storage::StoredIndexes& built, std::string_view ns,
                             const std::function<void()>& interrupted) {
  need(storage::database_of(collection.ns()))->check_unique(collection.id(), built, ns, interrupted);
}

void Databases::dropping(Transaction& transaction, std::string_view db) {
  const auto database = find(db);
  if (!database) return;
  const uint32_t number = database->number();
  BranchesPast::database_changing(past_.past(), transaction, db, number);
  table_.remove(transaction, database_key(db));
  std::vector<storage::CollectionId> shown = database->collections();
  std::erase_if(shown, [&](const auto& id) { return !shown_by_any_snapshot(transaction, id); });
  if (shown.empty() && !BranchesPast::shown_by_any_snapshot(past_.past(), transaction, number)) return;
  table_.put(transaction, kept_database_key(number, db), write_kept_collections(shown));
}

bool Databases::shown_by_any_snapshot(Transaction& transaction, storage::CollectionId collection) const {
  return store_.past_catalog().newest(transaction, collection).has_value();
}

void Databases::dropped(std::string_view db) {
  const auto database = find(db);
  if (!database) return;
  std::optional<Kept> kept;
  {
    Transaction transaction(store_, Transaction::Mode::read);
    const Bytes key = kept_database_key(database->number(), db);
    if (const auto row = table_.get(transaction, key)) {
      kept.emplace(Kept{database, {}});
      for (const storage::CollectionId id : read_kept_row(key, *row).collections)
        kept->collections.push_back(store_.catalog().stored(id));
    }
  }
  {
    const base::WriterLock lock(mutex_);
    databases_.erase(databases_.find(db));
    if (kept) kept_.emplace(database->number(), std::move(*kept));
  }
  database->close();
  database->forget_all_views();
  if (kept) return;
  for (const std::string& table : database->table_names()) store_.engine().drop_table(table);
}

std::shared_ptr<BranchedDatabase> Databases::find_kept(uint32_t number) const {
  const base::ReaderLock lock(mutex_);
  const auto found = kept_.find(number);
  return found == kept_.end() ? nullptr : found->second.database;
}

void Databases::sweep_snapshots(const std::function<void()>& interrupted) {
  past_.past().sweep(interrupted);
  forget_kept();
}

// A collection goes when no snapshot shows it any more, and the branches go with the last collection.
void Databases::forget_kept() {
  const base::MutexLock one_at_a_time(forgetting_);
  std::map<uint32_t, Kept> all;
  {
    const base::ReaderLock lock(mutex_);
    all = kept_;
  }
  for (auto& [number, kept] : all) {
    std::vector<std::string> tables;
    bool shown = false;
    {
      Transaction transaction(store_, Transaction::Mode::read);
      std::erase_if(kept.collections, [&](const auto& collection) {
        if (shown_by_any_snapshot(transaction, collection->id())) return false;
        const auto own = kept.database->remove(collection->id());
        tables.insert(tables.end(), own.begin(), own.end());
        return true;
      });
      shown = !kept.collections.empty() || BranchesPast::shown_by_any_snapshot(past_.past(), transaction, number);
    }
    {
      const base::WriterLock lock(mutex_);
      if (shown)
        kept_.at(number).collections = kept.collections;
      else
        kept_.erase(number);
    }
    if (!shown) {
      const auto own = kept.database->table_names();
      tables.insert(tables.end(), own.begin(), own.end());
      storage::in_transaction(store_, [&](Transaction& transaction) {
        table_.remove(transaction, kept_database_key(number, kept.database->name()));
      });
    }
    for (const std::string& table : tables) store_.engine().drop_table(table);
  }
}

void Databases::replay(const std::string& db, const std::vector<storage::BranchChange>& changes,
                       const storage::ReplayedChange& replayed) {
  if (db == log::snapshots_database) return replay_snapshots(changes, replayed);
  const auto name_of = [](const storage::BranchChange& change) { return change.command.begin()->name; };
  const std::string_view first = name_of(changes.front());
  if (changes.size() == 1 && first == log::Purge::name) return replay_purge(db, changes.front(), replayed);
  if (first == log::BeginBranches::name) {
    if (find(db)) log::refuse("the log begins branches of database '" + db + "', which has branches already");
    find_or_begin(db, log::BeginBranches::decode(changes.front().command).made.info(), changes.front().stamp,
                  {.replayed = &replayed});
    return;
  }
  const auto database = find(db);
  if (!database) log::refuse("the log changes branches of database '" + db + "', which has none");
  const auto work = [&, lost = lost()] {
    const auto indexes = database->keep_indexes();
    storage::in_transaction(store_, [&](Transaction& transaction) {
      transaction.set_replayed(&replayed);
      for (const storage::BranchChange& change : changes) database->replay(transaction, change, lost);
    });
  };
  // Nobody reads or writes meanwhile, as on the primary: what is pending goes, or its branch gets another name.
  std::vector<std::string> views;
  bool alone = false;
  for (const storage::BranchChange& change : changes) {
    const std::string_view name = name_of(change);
    const bool forgets = name == log::DropBranch::name || name == log::RenameBranch::name;
    if (forgets) views.push_back(log::Fields(change.command).text(name));
    alone = alone || forgets || name == log::ResetBranch::name;
  }
  if (!alone) return work();
  store_.catalog().alone(db, nullptr, [&](const auto&) {
    work();
    for (const std::string& branch : views) database->forget_views(branch);
  });
}

}  // namespace versions
