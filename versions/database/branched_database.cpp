#include "versions/database/branched_database.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>

#include "bson/builder.h"
#include "bson/key_collation.h"
#include "bson/keystring.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"
#include "storage/engine/room.h"
#include "storage/indexes/index_keys.h"
#include "storage/store.h"
#include "versions/database/unique_keys.h"
#include "versions/log/branch_change.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

BranchedDatabase::BranchedDatabase(past::Past& past, storage::BranchLog* log, std::string name, uint32_t number,
                                   std::shared_ptr<merkle::NodeCache> nodes)
    : store_(past.store()),
      log_(log),
      name_(std::move(name)),
      number_(number),
      past_(past),
      branches_(store_, number, Layout::hybrid, {}, std::move(nodes)),
      branches_past_(past, branches_.graph(), name_, number),
      open_merges_(store_, number) {
  branches_.graph().set_changing([this](Transaction& transaction, const std::string& branch, BytesView before) {
    branches_past_.changing(transaction, branch, before);
  });
}

BranchedDatabase::~BranchedDatabase() = default;

BranchedDatabase::InUse::InUse(const BranchedDatabase& database) : lock_(database.mutex_) {
  if (database.closed_) throw OperationError(ErrorCode::namespace_not_found, "database '" + database.name_ + "' was dropped");
}

void BranchedDatabase::close() {
  const base::WriterLock lock(mutex_);
  closed_ = true;
}

namespace {

// The index on `_id` finds what was there before the first branch. Under a collation it may find another document, whose `_id`
// the collation takes for the same.
FirstRecords first_records(storage::StoredCollection& collection, const std::shared_ptr<storage::StoredIndex>& ids) {
  if (kept_by_store(*ids))
    return [ids](Transaction& transaction, BytesView key) { return ids->find(transaction, key).value_or(0); };
  return [ids, &records = collection.records()](Transaction& transaction, BytesView key) -> RecordId {
    const auto collated = bson::collated_key(key, *ids->spec().collator);
    const auto record = collated ? ids->find(transaction, *collated) : std::nullopt;
    const auto content = record ? records.find(transaction, *record) : std::nullopt;
    return content && key_of(*content) == key ? *record : 0;
  };
}

}  // namespace

void BranchedDatabase::add(storage::StoredCollection& collection, int64_t holes) {
  const auto id_index = collection.stored_indexes()->front();
  StoreParts parts{store_, collection.id(), collection.records(), first_records(collection, id_index)};
  const base::WriterLock lock(mutex_);
  auto past = std::make_unique<CollectionPast>(past_, collection);
  parts.past = past.get();
  branches_.add({collection.uuid_bytes(), std::move(parts)});
  BranchStore& store = branches_.store(branches_.collections() - 1);
  // The BranchStore's own table tells which versions a key has.
  if (kept_by_store(*id_index)) id_index->set_versions(storage::Table(store.table_names().front()));
  auto& versions = collections_[collection.id()] =
      std::make_shared<Versions>(branches_.graph(), store, collection, holes, std::move(past));
  in_order_.push_back(&versions->shared);
}

void BranchedDatabase::begin(Transaction& transaction, const CommitInfo& info) {
  const InUse in_use(*this);
  std::vector<RecordId> newest;
  for (const SharedCollection* shared : in_order_) {
    auto cursor = shared->base.records().cursor(transaction, storage::Direction::backward);
    newest.push_back(cursor.next() ? cursor.id() : 0);
  }
  const auto commit = branches_.begin(transaction, newest, info);
  append_to_log(transaction, log::BeginBranches{.made = log::MadeCommit::of(*commit)}.encode());
}

void BranchedDatabase::share(storage::StoredCollection& collection) {
  // This is the view of main, which is the first branch. The collection owns the view, so the view doesn't own the collection.
  const InUse in_use(*this);
  collection.share(std::make_shared<CollectionView>(shared_from_this(), shared_of(collections_.at(collection.id())), nullptr,
                                                    collection.ns(), ViewPlace{std::string(main), BranchId{1}, 0}));
}

Place BranchedDatabase::place(Transaction& transaction, const Ref& ref) const {
  const VersionGraph& graph = branches_.graph();
  const auto unknown = [&](const std::string& what) {
    return OperationError(ErrorCode::namespace_not_found, "database '" + name_ + "' has no " + what);
  };
  Place place{.branch = graph.branch(transaction, ref.name)};
  if (place.branch) {
    place.commit = place.branch->head;
  } else {
    auto found = graph.tag(transaction, ref.name);
    if (!found && looks_like_commit(ref.name)) found = graph.find(transaction, ref.name);
    if (!found) throw unknown("branch, tag or commit '" + ref.name + "'");
    place.commit = *found;
  }
  for (const Ref::Step& step : ref.steps) {
    const uint32_t times = step.kind == '~' ? step.count : 1;
    const uint32_t parent = step.kind == '~' ? 1 : step.count;
    for (uint32_t i = 0; i < times && parent > 0; ++i) {
      const auto commit = graph.commit(transaction, place.commit);
      if (commit->parents.size() < parent) throw unknown("commit so far behind '" + ref.name + "'");
      place.commit = commit->parents[parent - 1];
    }
  }
  if (!ref.steps.empty()) place.branch.reset();
  if (!place.branch) check_kept(transaction, ref, place.commit);
  return place;
}

void BranchedDatabase::check_kept(Transaction& transaction, const Ref& ref, CommitNumber commit) const {
  if (!branches_.graph().dropped(transaction, commit)) return;
  throw OperationError(
      ErrorCode::namespace_not_found,
      branches_.graph().absent(transaction, commit)
          ? "the commit that '" + ref.name + "' leads to lies behind the boundary of the shallow history of database '" + name_ +
                "': fetch it with a greater depth, or with unshallow"
          : "the commit that '" + ref.name + "' leads to was dropped by the retention of database '" + name_ + "'");
}

std::shared_ptr<CollectionView> BranchedDatabase::view(Transaction& transaction, const Ref& ref, const std::string& ns,
                                                       std::shared_ptr<storage::StoredCollection> base) {
  const Place place = this->place(transaction, ref);
  const auto shared = versions_of(base->id());
  if (!shared) return nullptr;
  ViewPlace where;
  where.commit = place.commit;
  if (place.branch) where = {place.branch->name, place.branch->id, place.commit};
  auto view = std::make_shared<CollectionView>(shared_from_this(), shared, std::move(base), ns, where);
  if (!place.branch) return view;
  // The transaction may be older than the drop of the branch, and another branch may have its name. Then nobody would remove the
  // view.
  return views_.add(ns, where.branch, std::move(view), [&] { return is_now(*place.branch); });
}

std::vector<storage::CollectionId> BranchedDatabase::collections() const {
  const base::ReaderLock lock(mutex_);
  std::vector<storage::CollectionId> all;
  for (const auto& [id, shared] : collections_) all.push_back(id);
  return all;
}

std::optional<Branch> BranchedDatabase::branch_then(Transaction& transaction, const std::string& name, Stamp snapshot) const {
  const base::ReaderLock lock(mutex_);
  return branches_past_.branch(transaction, name, snapshot);
}

std::shared_ptr<past::ShownRecords> BranchedDatabase::shown_then(storage::CollectionId collection, const Branch& branch,
                                                                 Stamp snapshot) {
  {
    const base::ReaderLock lock(mutex_);
    const auto found = collections_.find(collection);
    if (found == collections_.end()) return nullptr;
    Transaction transaction(store_, Transaction::Mode::read);
    SharedCollection& shared = found->second->shared;
    const auto listing = branches_past_.listing(transaction, shared, branch, snapshot);
    const bool has = listing ? lists(*listing)
                             : branches_.has(transaction, branch.head, collection_at(collection)) ||
                                   !branches_past_.shown(transaction, shared, branch, snapshot).empty();
    if (!has) return nullptr;
  }
  return shown_records([self = shared_from_this(), collection, branch, snapshot] {
    const base::ReaderLock lock(self->mutex_);
    const auto found = self->collections_.find(collection);
    if (found == self->collections_.end()) throw OperationError(ErrorCode::query_plan_killed, "the collection was dropped");
    // The answer is the same in any transaction that began since the snapshot can be read; the caller's may be older.
    Transaction transaction(self->store_, Transaction::Mode::read);
    return self->branches_past_.shown(transaction, found->second->shared, branch, snapshot);
  });
}

bool BranchedDatabase::is_now(const Branch& branch) const {
  Transaction transaction(store_, Transaction::Mode::read);
  const auto now = branches_.graph().branch(transaction, branch.name);
  return now && now->id == branch.id;
}

// A name must have one meaning.
void BranchedDatabase::check_free(Transaction& transaction, const std::string& name) const {
  check_branch_name(name);
  const VersionGraph& graph = branches_.graph();
  graph.claim_name(transaction, name);
  const char* taken = graph.branch(transaction, name) ? "branch" : graph.tag(transaction, name) ? "tag" : nullptr;
  if (taken) throw OperationError(ErrorCode::namespace_exists, std::string("there is a ") + taken + " '" + name + "'");
}

void BranchedDatabase::check_unique(storage::CollectionId collection, const storage::StoredIndexes& built, std::string_view ns,
                                    const std::function<void()>& interrupted) {
  storage::StoredIndexes unique;
  std::copy_if(built.begin(), built.end(), std::back_inserter(unique), [](const auto& index) { return index->spec().unique; });
  if (unique.empty()) return;
  const auto held = versions_of(collection);
  SharedCollection& shared = *held;
  {
    Transaction transaction(store_, Transaction::Mode::read);
    std::vector<Branch> branches = branches_.graph().branches(transaction);
    const std::string meant = ref_of_database(storage::database_of(ns)).name;
    // The branch that is meant comes first; the others stand next to branches that they have most in common with.
    const auto rank = [&](const Branch& branch) { return std::pair(branch.name != meant, branch.head); };
    std::sort(branches.begin(), branches.end(), [&](const Branch& a, const Branch& b) { return rank(a) < rank(b); });
    std::optional<View> checked;
    for (const Branch& branch : branches) {
      const NamedView view{name_of(branch.name) + "." + collection_name(shared), shared.view_of(transaction, branch)};
      for (const auto& index : unique) {
        if (!checked) versions::check_unique(transaction, shared, *index, view, interrupted);
      }
      if (checked) check_unique_beside(transaction, shared, unique, view, *checked, interrupted);
      checked = view.view;
    }
  }
  storage::in_transaction(store_, [&](Transaction& transaction) { branches_.graph().put_before_unique(transaction); });
}

// `near` is a branch that has much in common with the commit.
void BranchedDatabase::check_unique(Transaction& transaction, CommitNumber commit, const Branch& near) {
  const VersionGraph& graph = branches_.graph();
  if (commit > graph.before_unique(transaction)) return;
  const std::string state = base::to_hex(versions::view(graph.commit(transaction, commit)->id)).substr(0, 16);
  const InUse in_use(*this);
  for (SharedCollection* shared : in_order_) {
    check_unique_beside(transaction, *shared, unique_indexes(shared->base),
                        {name_ + "@" + state + "." + collection_name(*shared), shared->view_of(transaction, commit)},
                        shared->view_of(transaction, near), {});
  }
}

Branch BranchedDatabase::create(Transaction& transaction, const std::string& name, const Ref& from) {
  const Place place = this->place(transaction, from);
  check_unique(transaction, place.commit, place.branch ? *place.branch : branch(transaction, {.name = std::string(main)}));
  return create(transaction, name, place);
}

Branch BranchedDatabase::create_empty(Transaction& transaction, const std::string& name, const Ref& from) {
  Branch made = create(transaction, name, place(transaction, from));
  const InUse in_use(*this);
  for (size_t i = 0; i < in_order_.size(); ++i) drop_at(transaction, made, i, {});
  return made;
}

Branch BranchedDatabase::create(Transaction& transaction, const std::string& name, const Place& from) {
  check_free(transaction, name);
  const InUse in_use(*this);
  Branch made =
      from.branch ? branches_.create(transaction, name, from.branch->name) : branches_.create(transaction, name, from.commit);
  append_to_log(transaction, log::CreateBranch{.branch = name,
                                               .from = from.branch ? std::optional(from.branch->name) : std::nullopt,
                                               .commit = commit_id(transaction, from.commit)}
                                 .encode());
  return made;
}

bool BranchedDatabase::has_pending(Transaction& transaction, BranchId branch) {
  const InUse in_use(*this);
  return is_pending(transaction, branch);
}

bool BranchedDatabase::is_pending(Transaction& transaction, BranchId branch) const {
  return std::any_of(in_order_.begin(), in_order_.end(),
                     [&](const SharedCollection* shared) { return shared->store.has_pending(transaction, branch); });
}

void BranchedDatabase::lose(Transaction& transaction, SharedCollection& shared, RecordId record, Stamp generation,
                            BytesView content, const Lost& lost) {
  lost(transaction, shared.base.id(), record, generation, content);
  remove_entries(transaction, shared.base, record, bson::DocumentView(content));
  shared.base.written(transaction, record, {.generation = generation, .bytes = {}},
                      {.records = -1, .bytes = -static_cast<int64_t>(content.size())}, {});
}

// Records that the branch alone shows are no longer stored. The store removes them; this removes what belongs to them.
void BranchedDatabase::lose_pending(Transaction& transaction, const Branch& branch, SharedCollection& shared, const Lost& lost) {
  const BranchStore::Pending pending = shared.store.pending(transaction, branch.id);
  auto cursor = shared.base.records().cursor(transaction);
  pending.added.for_each([&](RecordId record) {
    storage::ask_interrupted();
    cursor.seek_after(record - 1);
    if (!cursor.next() || cursor.id() != record) return;
    const Bytes content(cursor.content());
    lose(transaction, shared, record, cursor.generation(), content, lost);
  });
}

bool BranchedDatabase::has(Transaction& transaction, const Place& place, storage::CollectionId collection) {
  const InUse in_use(*this);
  const size_t at = collection_at(collection);
  return place.branch ? branches_.has(transaction, *place.branch, at) : branches_.has(transaction, place.commit, at);
}

bool BranchedDatabase::anybody_has(Transaction& transaction, storage::CollectionId collection) {
  const InUse in_use(*this);
  return branches_.anybody_has(transaction, collection_at(collection)) ||
         collections_.at(collection)->past->saved_listed(transaction);
}

bool BranchedDatabase::make_collection(Transaction& transaction, const Branch& branch, storage::CollectionId collection) {
  const InUse in_use(*this);
  const size_t at = collection_at(collection);
  if (branches_.has(transaction, branch, at)) return false;
  append_to_log(transaction, log::MakeCollection{.branch = branch.name, .collection = uuid_of(at)}.encode());
  branches_.make_collection(transaction, branch, at, transaction.write_stamp());
  return true;
}

void BranchedDatabase::check_series(Transaction& transaction, const Branch& branch) {
  const InUse in_use(*this);
  check_one_of_each_name(transaction, branch);
}

void BranchedDatabase::check_one_of_each_name(Transaction& transaction, const Branch& branch) {
  std::unordered_map<std::string, size_t> by_name;
  for (size_t i = 0; i < in_order_.size(); ++i) by_name.emplace(collection_name(*in_order_[i]), i);
  for (const auto& [name, at] : by_name) {
    if (!name.starts_with(storage::buckets_prefix)) continue;
    const std::string series = name.substr(storage::buckets_prefix.size());
    const auto other = by_name.find(series);
    if (other == by_name.end() || !branches_.has(transaction, branch, at) || !branches_.has(transaction, branch, other->second))
      continue;
    throw OperationError(ErrorCode::namespace_exists, "branch '" + branch.name +
                                                          "' can't have both a collection and a time series '" + series +
                                                          "': drop or rename one of them first");
  }
}

bool BranchedDatabase::drop_collection(Transaction& transaction, const Branch& branch, storage::CollectionId collection,
                                       const Lost& lost) {
  const InUse in_use(*this);
  return drop_at(transaction, branch, collection_at(collection), lost);
}

bool BranchedDatabase::drop_at(Transaction& transaction, const Branch& branch, size_t at, const Lost& lost) {
  if (!branches_.has(transaction, branch, at)) return false;
  lose_pending(transaction, branch, *in_order_[at], lost);
  append_to_log(transaction, log::DropCollection{.branch = branch.name, .collection = uuid_of(at)}.encode());
  branches_.drop_collection(transaction, branch, at, transaction.write_stamp());
  return true;
}

void BranchedDatabase::take_collection(Transaction& transaction, const Branch& branch, const Branch& from,
                                       storage::CollectionId collection, const Lost& lost) {
  const InUse in_use(*this);
  const size_t at = collection_at(collection);
  lose_pending(transaction, branch, *in_order_[at], lost);
  append_to_log(transaction, log::TakeCollection{.branch = branch.name, .collection = uuid_of(at), .from = from.name}.encode());
  branches_.take_collection(transaction, branch, from, at, transaction.write_stamp());
}

std::vector<std::string> BranchedDatabase::remove(storage::CollectionId collection) {
  const base::WriterLock lock(mutex_);
  const size_t at = collection_at(collection);
  in_order_.erase(in_order_.begin() + static_cast<std::ptrdiff_t>(at));
  const auto found = collections_.find(collection);
  const std::shared_ptr<Versions> versions = std::move(found->second);
  collections_.erase(found);
  versions->store = branches_.remove(at);
  views_.drop(collection);
  return versions->store->table_names();
}

void BranchedDatabase::drop(Transaction& transaction, const std::string& name, const Lost& lost) {
  const InUse in_use(*this);
  const Branch branch = this->branch(transaction, {.name = name});
  if (name == main) throw OperationError(ErrorCode::illegal_operation, "main can't be dropped: it is the database itself");
  for (SharedCollection* shared : in_order_) lose_pending(transaction, branch, *shared, lost);
  open_merges_.end(transaction, branch.id);
  branches_.drop(transaction, name);
  append_to_log(transaction, log::DropBranch{.branch = name}.encode());
}

namespace {

std::string shown(const Ref& ref) {
  std::string name = ref.name;
  for (const Ref::Step& step : ref.steps) name += step.kind + std::to_string(step.count);
  return name;
}

}  // namespace

Branch BranchedDatabase::branch(Transaction& transaction, const Ref& ref) const {
  Place place = this->place(transaction, ref);
  if (!place.branch)
    throw OperationError(ErrorCode::illegal_operation, "'" + shown(ref) + "' is no branch: only branches can change");
  return std::move(*place.branch);
}

std::shared_ptr<const Commit> BranchedDatabase::commit(Transaction& transaction, const std::string& branch,
                                                       const CommitInfo& info, const std::vector<std::string>& collections) {
  const CommitInfo whole = with_trees(info);
  const InUse in_use(*this);
  std::set<size_t> only;
  for (const std::string& name : collections) only.insert(collection_at(name));
  return commit(transaction, branch, whole, only, std::nullopt);
}

std::shared_ptr<void> BranchedDatabase::stop_writers(BranchId branch, Stopped what) {
  const InUse in_use(*this);
  // A stop must be destroyed before the store that it stops.
  auto stops = std::make_shared<std::vector<std::pair<std::shared_ptr<Versions>, std::shared_ptr<void>>>>();
  for (const auto& [id, versions] : collections_)
    stops->emplace_back(versions, versions->shared.store.stop_writers(branch, what));
  return stops;
}

CommitInfo BranchedDatabase::with_trees(CommitInfo info) const {
  const InUse in_use(*this);
  for (const SharedCollection* shared : in_order_) {
    const TreeKind kind = tree_kind_of(shared->base.options().document);
    if (kind != TreeKind()) info.trees.emplace(shared->base.uuid_bytes(), kind);
  }
  return info;
}

bool BranchedDatabase::prepare_commit(Transaction& transaction, const std::string& branch) {
  const CommitInfo info = with_trees({});
  const InUse in_use(*this);
  const auto part = branches_.next_part(transaction, branch, info);
  if (part) make_tree_part(transaction, *part);
  return part.has_value();
}

bool BranchedDatabase::prepare_merge(Transaction& transaction, const Ref& into, const MergeRequest& request) {
  const CommitInfo info = with_trees({});
  const InUse in_use(*this);
  const Place place = this->place(transaction, into);
  if (place.branch && is_pending(transaction, place.branch->id)) return false;
  const auto part = branches_.next_part(transaction, request.kind, place.commit, request.from, info);
  if (part) make_tree_part(transaction, *part);
  return part.has_value();
}

// Members of a set have the same documents in other places. A member that makes as many parts of as many documents comes to the
// same tree.
void BranchedDatabase::make_tree_part(Transaction& transaction, const Branches::TreePart& part) {
  branches_.make_part(transaction, part);
  append_to_log(transaction, log::MakeTree{.commit = commit_id(transaction, part.commit),
                                           .collection = uuid_of(part.collection),
                                           .documents = static_cast<int32_t>(part.documents_max),
                                           .tree = part.kind}
                                 .encode());
}

std::shared_ptr<const Commit> BranchedDatabase::commit(Transaction& transaction, const std::string& branch,
                                                       const CommitInfo& info, const std::set<size_t>& only,
                                                       std::optional<Held> held) {
  auto made = branches_.commit(transaction, branch, info, only, &held);
  if (!made) return nullptr;
  log::CommitBranch entry{.branch = branch, .collections = {}, .held = *held, .made = log::MadeCommit::of(*made, info)};
  for (const size_t one : only) entry.collections.push_back(uuid_of(one));
  append_to_log(transaction, entry.encode());
  return made;
}

Branches::Lost BranchedDatabase::losing(Transaction& transaction, const Lost& lost) {
  return [&](size_t collection, RecordId record, Stamp generation, BytesView content)
             REQUIRES_SHARED(mutex_) { lose(transaction, *in_order_[collection], record, generation, content, lost); };
}

void BranchedDatabase::set_retention(Transaction& transaction, const RetentionPolicy& policy) {
  branches_.graph().put_policy(transaction, policy);
  append_to_log(transaction, log::SetRetention{.policy = policy}.encode());
}

Branches::Swept BranchedDatabase::sweep(Transaction& transaction, const Retention& retention, size_t commits_max,
                                        const Lost& lost) {
  const InUse in_use(*this);
  std::vector<CommitNumber> held = open_merges_.held(transaction);
  for (const CommitNumber commit : branches_past_.held(transaction)) held.push_back(commit);
  for (const CommitNumber commit : held_by_stashes(transaction)) held.push_back(commit);
  // It says that the history is shallow, and the origin's first commit takes its place one day.
  if (branches_.graph().grafted(transaction)) held.push_back(branches_.graph().first(transaction));
  auto swept = branches_.sweep(transaction, retention, commits_max, losing(transaction, lost), held);
  log_sweep(transaction, swept);
  return swept;
}

namespace {

// All documents whose `_id` the collection's collation takes for this one are purged; `key` is their key in the index. Another
// transaction that writes such a document on any branch at the same time conflicts.
std::set<Bytes> keys_to_purge(Transaction& transaction, SharedCollection& shared, const bson::ValueView& id, BytesView key) {
  const auto ids = shared.base.stored_indexes()->front();
  std::set<Bytes> keys{std::move(bson::KeyString().append(id)).bytes()};
  if (kept_by_store(*ids)) return keys;
  for (const Branch& branch : shared.graph.branches(transaction)) ids->claim(transaction, key, static_cast<uint32_t>(branch.id));
  ids->each_version(transaction, key, [&](RecordId record) {
    if (const auto content = shared.store.content(transaction, record)) keys.insert(key_of(*content));
    return true;
  });
  return keys;
}

}  // namespace

uint64_t BranchedDatabase::purge(Transaction& transaction, std::string_view collection, const bson::ValueView& id,
                                 const Lost& lost) {
  const InUse in_use(*this);
  const size_t at = collection_at(collection);
  SharedCollection& shared = *in_order_[at];
  bson::KeyString key;
  key.append(id, false, shared.base.options().collator.get());
  uint64_t versions = past_.purge(transaction, shared.base, key.bytes());
  for (const Bytes& one : keys_to_purge(transaction, shared, id, key.bytes()))
    versions += branches_.purge(transaction, at, one, losing(transaction, lost));
  // A replayed purge is logged even if it finds nothing: each member frees by itself what dropped snapshots alone showed.
  if (versions > 0 || transaction.replays())
    append_to_log(transaction, log::Purge{.collection = std::string(collection), .id = bson::Value(id)}.encode());
  return versions;
}

std::shared_ptr<const Commit> BranchedDatabase::reset(Transaction& transaction, const std::string& name, const Ref& to,
                                                      const Lost& lost) {
  const CommitNumber commit = place(transaction, to).commit;
  check_unique(transaction, commit, branch(transaction, {.name = name}));
  return reset(transaction, name, commit, lost);
}

std::shared_ptr<const Commit> BranchedDatabase::reset(Transaction& transaction, const std::string& name, CommitNumber to,
                                                      const Lost& lost) {
  const InUse in_use(*this);
  const Branch branch = this->branch(transaction, {.name = name});
  for (SharedCollection* shared : in_order_) lose_pending(transaction, branch, *shared, lost);
  open_merges_.end(transaction, branch.id);
  branches_.reset(transaction, name, to);
  auto commit = branches_.graph().commit(transaction, to);
  append_to_log(transaction, log::ResetBranch{.branch = name, .commit = commit->id}.encode());
  return commit;
}

void BranchedDatabase::rename(Transaction& transaction, const std::string& name, const std::string& to) {
  Branch branch = this->branch(transaction, {.name = name});
  if (name == main) throw OperationError(ErrorCode::illegal_operation, "main can't be renamed: it is the database itself");
  check_free(transaction, to);
  branches_.graph().remove_branch(transaction, name);
  branch.name = to;
  branches_.graph().put_branch(transaction, branch);
  append_to_log(transaction, log::RenameBranch{.branch = name, .to = to}.encode());
}

std::shared_ptr<const Commit> BranchedDatabase::create_tag(Transaction& transaction, const std::string& name, const Ref& from) {
  check_branch_name(name);
  return create_tag(transaction, name, place(transaction, from).commit);
}

std::shared_ptr<const Commit> BranchedDatabase::create_tag(Transaction& transaction, const std::string& name, CommitNumber of) {
  if (is_stash_name(name))
    branches_.graph().claim_name(transaction, name);
  else
    check_free(transaction, name);
  branches_.graph().put_tag(transaction, name, of);
  auto commit = branches_.graph().commit(transaction, of);
  append_to_log(transaction, log::CreateTag{.tag = name, .commit = commit->id}.encode());
  return commit;
}

void BranchedDatabase::drop_tag(Transaction& transaction, const std::string& name) {
  if (!branches_.graph().tag(transaction, name))
    throw OperationError(ErrorCode::namespace_not_found, "database '" + name_ + "' has no tag '" + name + "'");
  branches_.graph().remove_tag(transaction, name);
  append_to_log(transaction, log::DropTag{.tag = name}.encode());
}

// --- merges and differences

namespace {

bson::Document id_of(bson::DocumentView document) {
  bson::Builder out;
  out.append("_id", static_cast<bson::ValueView>(document.find("_id")));
  return out.done();
}

}  // namespace

size_t BranchedDatabase::Conflict::bytes() const {
  return 2 * sizeof(*this) + collection.size() + id.size() + index.size() + key.size() + other.size() + bytes_of(paths);
}

MergeTerms BranchedDatabase::terms_of(Transaction& transaction, const Branch& into, const MergeRequest& request) const {
  MergeTerms terms(request.resolve);
  terms.interrupted = [this, &asked = request.interrupted] {
    if (asked) asked();
    storage::require_room(store_);
  };
  terms.hold = request.hold;
  terms.kept = KeptBytes(request.hold);
  for (size_t i = 0; !request.of_present.empty() && i < in_order_.size(); ++i) {
    if (const auto found = request.of_present.find(collection_name(*in_order_[i])); found != request.of_present.end())
      terms.of_collection[i] = found->second;
  }
  for (const auto& [name, resolver] : request.of_collection) terms.of_collection[collection_at(name)] = resolver;
  for (size_t i = 0; request.goes_on && i < in_order_.size(); ++i) {
    terms.decided[i] = open_merges_.decisions(transaction, into.id, in_order_[i]->base.id(), &terms.kept);
  }
  return terms;
}

void BranchedDatabase::check_no_merge(Transaction& transaction, const Branch& branch) const {
  if (!open_merges_.find(transaction, branch.id)) return;
  throw OperationError(ErrorCode::illegal_operation,
                       "a merge is under way on branch '" + branch.name + "': continueMerge or abortMerge come first");
}

BranchedDatabase::Merge BranchedDatabase::merge(Transaction& transaction, const std::string& into, const MergeRequest& request,
                                                const CommitInfo& given) {
  const CommitInfo info = with_trees(given);
  const InUse in_use(*this);
  const Branch before = branch(transaction, {.name = into});
  if (!request.goes_on) check_no_merge(transaction, before);
  const std::optional<Branch> with = request.with ? std::optional(branch(transaction, {.name = *request.with})) : std::nullopt;
  if (with) {
    check_no_merge(transaction, *with);
    if (with->head != request.from)
      throw OperationError(ErrorCode::illegal_operation, "branch '" + with->name + "' went on since the merge began");
  }
  storage::require_room(store_);
  const MergeTerms terms = terms_of(transaction, before, request);
  Merged merged = branches_.apply(transaction, request.kind, into, request.from, terms, info);
  Merge merge{.commit = merged.commit, .conflicts = {}, .touched_by_both = merged.touched_by_both};
  merge.kept = KeptBytes(request.hold);
  if (!merged.conflicts.empty()) merged.kept.release();
  for (Merged::Conflict& one : merged.conflicts) {
    terms.interrupted();
    const SharedCollection& shared = *in_order_[one.collection];
    const RecordId record = one.ours != 0 ? one.ours : one.theirs != 0 ? one.theirs : one.base;
    const auto content = shared.store.content(transaction, record);
    merge.conflicts.push_back({.collection = collection_name(shared),
                               .id = content ? id_of(bson::DocumentView(*content)) : bson::Document(),
                               .paths = std::move(one.paths)});
    merge.kept.add(merge.conflicts.back().bytes());
  }
  if (!merge.conflicts.empty()) return merge;
  const Branch after = branch(transaction, {.name = into});
  if (merge.commit) {
    check_one_of_each_name(transaction, after);
    for (SharedCollection* shared : in_order_)
      index_merged(transaction, *shared, before, after, merged.generation, terms.interrupted, merge);
    if (!merge.conflicts.empty()) return merge;
    log_documents(transaction, into, merged.adoptions);
    log_merge(transaction, into, merged.theirs, *merge.commit, info, merged.generation);
  }
  if (with && with->head != after.head) {
    branches_.advance(transaction, with->name, after.head);
    index_advanced(transaction, *with, terms.interrupted, merge);
    if (!merge.conflicts.empty()) return merge;
    log_difference(transaction, *with, after.head);
    log_advance(transaction, with->name, after.head);
    merge.advanced = true;
  }
  if (request.goes_on) end_merge(transaction, before);
  return merge;
}

// Both branches of a merge end at its commit. The other branch has had all that the merge took from it, and the documents that
// the merge wrote have their entries.
void BranchedDatabase::index_advanced(Transaction& transaction, const Branch& before, const std::function<void()>& interrupted,
                                      Merge& merge) {
  const Branch now = branch(transaction, {.name = before.name});
  for (SharedCollection* shared : in_order_) index_merged(transaction, *shared, before, now, 0, interrupted, merge);
}

void BranchedDatabase::begin_merge(Transaction& transaction, const Branch& branch, const OpenMerge& merge) {
  const InUse in_use(*this);
  branches_.graph().hold(transaction, merge.from);
  open_merges_.begin(transaction, branch.id, merge);
  append_to_log(
      transaction,
      log::BeginMerge{.into = branch.name, .commit = commit_id(transaction, merge.from), .request = merge.request}.encode());
}

void BranchedDatabase::end_merge(Transaction& transaction, const Branch& branch) {
  if (!open_merges_.end(transaction, branch.id))
    throw OperationError(ErrorCode::illegal_operation, "no merge is under way on branch '" + branch.name + "'");
  append_to_log(transaction, log::EndMerge{.into = branch.name}.encode());
}

void BranchedDatabase::abort_merge(Transaction& transaction, const Branch& branch) {
  end_merge(transaction, branch);
}

void BranchedDatabase::decide(Transaction& transaction, const Branch& branch, const MergeSides& sides, const Decision& decision) {
  const InUse in_use(*this);
  open_merges_.decide(transaction, branch.id, sides.collection, sides.key, decision);
  append_to_log(transaction, log::Decide{.into = branch.name,
                                         .collection = collections_.at(sides.collection)->shared.base.uuid_bytes(),
                                         .key = sides.key,
                                         .decision = decision}
                                 .encode());
}

std::vector<BranchedDatabase::Decided> BranchedDatabase::decided(Transaction& transaction, const Branch& branch) const {
  const InUse in_use(*this);
  std::vector<Decided> all;
  for (const SharedCollection* shared : in_order_) {
    const std::string name = collection_name(*shared);
    for (Bytes& key : open_merges_.decided(transaction, branch.id, shared->base.id())) all.push_back({name, std::move(key)});
  }
  std::stable_sort(all.begin(), all.end(), [](const Decided& a, const Decided& b) { return a.collection < b.collection; });
  return all;
}

Sides BranchedDatabase::MergeSides::view() const {
  const auto of = [](const std::optional<Bytes>& side) { return side ? std::optional<BytesView>(*side) : std::nullopt; };
  return {of(base), of(ours), of(theirs)};
}

std::optional<BranchedDatabase::MergeSides> BranchedDatabase::merge_sides(Transaction& transaction, const Branch& branch,
                                                                          Branches::MergeKind kind, CommitNumber from,
                                                                          std::string_view collection, BytesView key) {
  const InUse in_use(*this);
  for (size_t i = 0; i < in_order_.size(); ++i) {
    if (collection_name(*in_order_[i]) != collection) continue;
    BranchStore& store = in_order_[i]->store;
    const Branches::Change change = branches_.change(transaction, kind, branch.head, from);
    MergeSides sides{.collection = in_order_[i]->base.id(), .key = Bytes(key), .base = {}, .ours = {}, .theirs = {}};
    if (change.base != 0) sides.base = store.get(transaction, branches_.view(transaction, change.base, i), sides.key);
    sides.ours = store.get(transaction, branches_.view(transaction, branch.head, i), sides.key);
    sides.theirs = store.get(transaction, branches_.view(transaction, change.theirs, i), sides.key);
    return sides;
  }
  return std::nullopt;
}

namespace {

// Returns the indexes in which a merge looks for its new records. Another member decided what a replayed merge applies, and
// perhaps did so before an index that is becoming unique counted.
storage::StoredIndexes exclusive_indexes(const Transaction& transaction, const storage::StoredCollection& base) {
  storage::StoredIndexes indexes = unique_indexes(base);
  if (transaction.replays()) return indexes;
  for (auto& prepared : prepared_indexes(base)) indexes.push_back(std::move(prepared));
  return indexes;
}

// A document that keeps a key has no new one, whoever else has the key.
std::vector<Bytes> new_keys(Transaction& transaction, BranchStore& store, const View& before, const storage::StoredIndex& index,
                            bson::DocumentView document) {
  storage::IndexKeys keys, old;
  index.keys_of(document, keys);
  if (index.spec().unique) return std::move(keys.keys);
  if (const auto content = store.get(transaction, before, key_of(document.bytes())))
    index.keys_of(bson::DocumentView(*content), old);
  std::erase_if(keys.keys, [&](const Bytes& key) { return std::find(old.keys.begin(), old.keys.end(), key) != old.keys.end(); });
  return std::move(keys.keys);
}

}  // namespace

// Adds the entries of documents that the merge wrote, and looks whether records that are new to the branch have unique keys.
void BranchedDatabase::index_merged(Transaction& transaction, SharedCollection& shared, const Branch& before, const Branch& after,
                                    Stamp generation, const std::function<void()>& interrupted, Merge& merge) {
  const View old = shared.view_of(transaction, before.head), now = shared.view_of(transaction, after);
  if (old.state == now.state) return;
  const storage::StoredIndexes unique = exclusive_indexes(transaction, shared.base);
  const Difference difference = shared.store.diff(transaction, old, View{.state = now.state});
  auto cursor = shared.base.records().cursor(transaction);
  // Two new records may each meet the other: the conflict is listed once.
  std::set<std::tuple<const storage::StoredIndex*, Bytes, RecordId, RecordId>> listed;
  difference.only_b.for_each([&](RecordId record) {
    if (interrupted) interrupted();
    const bool may_be_written = segment_of(record) == before.segment;
    if (!may_be_written && unique.empty()) return;
    cursor.seek_after(record - 1);
    if (!cursor.next() || cursor.id() != record) {
      if (shared.store.purged(transaction, record)) return;  // states go on naming the record
      throw OperationError(ErrorCode::data_corruption_detected, "a merged record is missing");
    }
    const bool written = may_be_written && cursor.generation() == generation;
    if (!written && unique.empty()) return;
    const bson::Document document{Bytes(cursor.content())};
    if (written) {
      add_entries(transaction, shared.base, record, document);
      shared.base.count(transaction, {.records = 1, .bytes = static_cast<int64_t>(document.size()), .stamp = generation});
    }
    for (const auto& index : unique) {
      for (const Bytes& key : new_keys(transaction, shared.store, old, *index, document)) {
        index->claim(transaction, key, static_cast<uint32_t>(after.id));
        each_rival(transaction, shared.store, now, *index, key, record, [&](RecordId other) {
          if (!listed.emplace(index.get(), key, std::min(record, other), std::max(record, other)).second) return true;
          merge.kept.add(kept_node_bytes + key.size());
          const auto content = shared.store.content(transaction, other);
          merge.conflicts.push_back({.collection = collection_name(shared),
                                     .id = id_of(document),
                                     .index = index->spec().name,
                                     .key = storage::index_key_values(index->spec(), document, key),
                                     .other = content ? id_of(bson::DocumentView(*content)) : bson::Document()});
          merge.kept.add(merge.conflicts.back().bytes());
          return true;
        });
      }
    }
  });
}

size_t BranchedDatabase::collection_at(std::string_view name) const {
  for (size_t i = 0; i < in_order_.size(); ++i) {
    if (collection_name(*in_order_[i]) == name) return i;
  }
  throw OperationError(ErrorCode::namespace_not_found, "database '" + name_ + "' has no collection '" + std::string(name) + "'");
}

std::string BranchedDatabase::name_of(std::string_view branch) const {
  return branch == main ? name_ : name_ + "@" + escaped(branch);
}

size_t BranchedDatabase::collection_at(storage::CollectionId id) const {
  for (size_t i = 0; i < in_order_.size(); ++i) {
    if (in_order_[i]->base.id() == id) return i;
  }
  throw OperationError(ErrorCode::namespace_not_found, "the collection was dropped from database '" + name_ + "'");
}

std::string BranchedDatabase::collection_name(const SharedCollection& shared) {
  return std::string(storage::collection_of(shared.base.ns()));
}

std::shared_ptr<SharedCollection> BranchedDatabase::shared_of(const std::shared_ptr<Versions>& versions) {
  return {versions, &versions->shared};
}

std::shared_ptr<SharedCollection> BranchedDatabase::versions_of(storage::CollectionId collection) const {
  const InUse in_use(*this);
  const auto found = collections_.find(collection);
  return found == collections_.end() ? nullptr : shared_of(found->second);
}

std::vector<BranchedDatabase::Changes> BranchedDatabase::changes(Transaction& transaction, const Branch& branch) {
  const InUse in_use(*this);
  std::vector<Changes> all;
  for (SharedCollection* shared : in_order_) {
    BranchStore::Pending pending = shared->store.pending(transaction, branch.id);
    if (pending.empty()) continue;
    Changes changes{.collection = collection_name(*shared)};
    const View before = shared->view_of(transaction, branch.head);
    changes.dropped = pending.listing && !lists(*pending.listing);
    changes.made = pending.listing && lists(*pending.listing) && before.state == 0;
    const auto added = shared->store.scan_set(transaction, std::move(pending.added));
    while (added->next())
      ++(shared->store.find(transaction, before, key_of(added->content())) != 0 ? changes.modified : changes.inserted);
    changes.deleted = shared->records(transaction, before) + changes.inserted -
                      shared->records(transaction, shared->view_of(transaction, branch));
    all.push_back(std::move(changes));
  }
  return all;
}

std::vector<std::string> BranchedDatabase::table_names() const {
  const base::ReaderLock lock(mutex_);
  std::vector<std::string> names = branches_.graph().table_names();
  names.push_back(branches_.roots().table_name());
  names.push_back(open_merges_.table_name());
  for (const SharedCollection* shared : in_order_) {
    const auto more = shared->store.table_names();
    names.insert(names.end(), more.begin(), more.end());
  }
  return names;
}

}  // namespace versions
