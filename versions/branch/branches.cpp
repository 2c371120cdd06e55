#include "versions/branch/branches.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

#include "base/guarded.h"
#include "versions/branch/graph_rows.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr uint64_t stamps_beside = 8;  // for the generation and the log's commands
constexpr size_t node_cache_bytes = 16 << 20;

RecordSet behind(const RecordSet& set, RecordId record) {
  RecordSet rest;
  for (const auto& [segment, bitmap] : set.parts()) {
    if (segment < segment_of(record)) continue;
    Bitmap passed;
    if (segment == segment_of(record)) passed.addRange(0, uint64_t{offset_of(record)} + 1);
    rest.set_part(segment, bitmap - passed);
  }
  return rest;
}

// Returns whether the commit's id covers each collection.
bool says_all(const Commit& commit) {
  return std::all_of(commit.collections.begin(), commit.collections.end(),
                     [&](const CollectionState& one) { return commit.root_of(one).has_value(); });
}

}  // namespace

Branches::Branches(storage::Engine& engine, uint32_t database, Layout layout, std::vector<Collection> collections,
                   std::shared_ptr<merkle::NodeCache> nodes)
    : graph_(engine, database),
      roots_(engine, database, nodes ? std::move(nodes) : std::make_shared<merkle::NodeCache>(node_cache_bytes)),
      layout_(layout),
      collections_(std::move(collections)) {
  for (const Collection& collection : collections_) stores_.push_back(BranchStore::open(layout, collection.parts));
}

CollectionTerms MergeTerms::of(size_t collection) const {
  CollectionTerms terms{.resolve = resolve, .decided = nullptr, .interrupted = interrupted, .hold = hold};
  if (const auto found = of_collection.find(collection); found != of_collection.end()) terms.resolve = found->second;
  if (const auto found = decided.find(collection); found != decided.end()) terms.decided = &found->second;
  return terms;
}

void Branches::add(Collection collection) {
  stores_.push_back(BranchStore::open(layout_, collection.parts));
  collections_.push_back(std::move(collection));
}

std::unique_ptr<BranchStore> Branches::remove(size_t collection) {
  std::unique_ptr<BranchStore> store = std::move(stores_[collection]);
  stores_.erase(stores_.begin() + static_cast<std::ptrdiff_t>(collection));
  std::vector<Collection> left;  // parts are references: they can't be assigned
  for (size_t i = 0; i < collections_.size(); ++i) {
    if (i != collection) left.push_back(std::move(collections_[i]));
  }
  collections_ = std::move(left);
  return store;
}

bool Branches::has(Transaction& transaction, CommitNumber commit, size_t collection) const {
  return graph_.commit(transaction, commit)->state_of(collections_[collection].parts.collection) != nullptr;
}

bool Branches::has(Transaction& transaction, const Branch& branch, size_t collection) {
  BranchStore& store = *stores_[collection];
  if (const auto since = store.listing(transaction, branch.id)) return lists(*since);
  return has(transaction, branch.head, collection) || store.has_pending(transaction, branch.id);
}

bool Branches::anybody_has(Transaction& transaction, size_t collection) {
  // Main is enough mostly, and there can be many branches.
  if (has(transaction, head(transaction, "main"), collection)) return true;
  const std::vector<Branch> branches = graph_.branches(transaction);
  const auto on_branch = [&](const Branch& branch) { return has(transaction, branch, collection); };
  if (std::any_of(branches.begin(), branches.end(), on_branch)) return true;
  const Graph graph = graph_.graph(transaction);
  return std::any_of(graph.begin(), graph.end(),
                     [&](const auto& one) { return !one.second.dropped && has(transaction, one.first, collection); });
}

void Branches::make_collection(Transaction& transaction, const Branch& branch, size_t collection, Stamp stamp) {
  stores_[collection]->make(transaction, branch.id, stamp);
}

void Branches::drop_collection(Transaction& transaction, const Branch& branch, size_t collection, Stamp stamp) {
  // So a commit comes before this or after it, and the order is the same on every member of a set.
  graph_.put_branch(transaction, branch);
  stores_[collection]->drop(transaction, view(transaction, branch, collection), stamp);
}

void Branches::take_collection(Transaction& transaction, const Branch& branch, const Branch& from, size_t collection,
                               Stamp stamp) {
  drop_collection(transaction, branch, collection, stamp);
  stores_[collection]->take(transaction, view(transaction, branch, collection), view(transaction, from, collection), stamp);
}

void Branches::erase(std::vector<CollectionState>& states, const std::vector<storage::CollectionId>& dropped) {
  std::erase_if(states, [&](const CollectionState& one) {
    return std::find(dropped.begin(), dropped.end(), one.collection) != dropped.end();
  });
}

bool Branches::has_merged(Transaction& transaction, const Change& change, CommitNumber ours, size_t collection, State merged) {
  const bool before = change.base != 0 && has(transaction, change.base, collection);
  const bool here = has(transaction, ours, collection), there = has(transaction, change.theirs, collection);
  return (here == before ? there : here) || stores_[collection]->scan(transaction, {.state = merged})->next();
}

// The collections that the commit has, with the roots that its children begin with.
std::vector<CollectionState> Branches::states(Transaction& transaction, CommitNumber commit, const CommitInfo& info) {
  std::vector<CollectionState> states = graph_.commit(transaction, commit)->collections;
  for (size_t i = 0; i < collections_.size(); ++i) {
    if (CollectionState* state = find(states, i)) state->digest = root_kept(transaction, commit, i, info);
  }
  return states;
}

CollectionState* Branches::find(std::vector<CollectionState>& states, size_t collection) const {
  const auto id = collections_[collection].parts.collection;
  const auto found = std::find_if(states.begin(), states.end(), [&](const CollectionState& one) { return one.collection == id; });
  return found == states.end() ? nullptr : &*found;
}

// Collections that are new to a commit come in the order of their labels, which are the same on every machine.
CollectionState& Branches::find_or_add(Transaction& transaction, std::vector<CollectionState>& states, size_t known,
                                       size_t collection, const CommitInfo& info) const {
  if (CollectionState* state = find(states, collection)) return *state;
  const Collection& added = collections_[collection];
  auto at = states.begin() + static_cast<std::ptrdiff_t>(known);
  while (at != states.end() && at->label < added.label) ++at;
  return *states.insert(at, {added.parts.collection, added.label, 0, roots_.empty(transaction, tree_kind(info, collection))});
}

// --- trees

TreeKind Branches::tree_kind(const CommitInfo& info, size_t collection) const {
  const auto found = info.trees.find(collections_[collection].label);
  return found == info.trees.end() ? TreeKind() : found->second;
}

Hash Branches::root(Transaction& transaction, CommitNumber number, size_t collection, const TreeKind& kind) {
  const auto commit = graph_.commit(transaction, number);
  const CollectionState* state = state_of(*commit, collection);
  if (!state) return roots_.empty(transaction, kind);
  const auto known = root_known(transaction, *commit, *state);
  return known ? *known : root_as(transaction, number, collection, kind);
}

std::optional<Hash> Branches::root_known(Transaction& transaction, const Commit& commit, const CollectionState& state) const {
  if (const auto named = commit.root_of(state)) return *named;
  const auto made = graph_.made_root(transaction, state.collection, commit.number);
  return made && made->reached.empty() ? std::optional(made->root) : std::nullopt;
}

std::optional<Hash> Branches::root_to_go_on(Transaction& transaction, const Commit& commit, const CollectionState& state) const {
  const auto named = commit.root_of(state);
  if (!named) return std::nullopt;
  const auto made = graph_.made_root(transaction, state.collection, commit.number);
  if (!made || !made->reached.empty()) return named;
  const auto kind = base::guarded([&] { return std::optional(roots_.kind(transaction, *named)); });
  return kind && *kind != roots_.kind(transaction, made->root) ? named : made->root;
}

std::optional<Hash> Branches::root_there(Transaction& transaction, CommitNumber number, size_t collection, const TreeKind& kind) {
  const auto commit = graph_.commit(transaction, number);
  const CollectionState& state = *state_of(*commit, collection);
  const auto named = root_to_go_on(transaction, *commit, state);
  if (named && roots_.kind(transaction, *named) == kind) return named;
  const auto made = graph_.made_root(transaction, state.collection, number);
  return made && made->reached.empty() && roots_.kind(transaction, made->root) == kind ? std::optional(made->root) : std::nullopt;
}

Hash Branches::root_as(Transaction& transaction, CommitNumber number, size_t collection, const TreeKind& kind) {
  for (;;) {
    if (const auto there = root_there(transaction, number, collection, kind)) return *there;
    make_part(transaction, {.commit = number, .collection = collection, .kind = kind});
  }
}

Hash Branches::root_kept(Transaction& transaction, CommitNumber number, size_t collection, const CommitInfo& info) {
  const auto commit = graph_.commit(transaction, number);
  const auto named = root_to_go_on(transaction, *commit, *state_of(*commit, collection));
  return named ? *named : root_as(transaction, number, collection, tree_kind(info, collection));
}

Hash Branches::root_changed(Transaction& transaction, CommitNumber number, const CollectionState& state, size_t collection,
                            const CommitInfo& info) {
  const TreeKind kind = tree_kind(info, collection);
  if (roots_.kind(transaction, state.digest) == kind) return state.digest;
  return root_as(transaction, number, collection, kind);
}

std::optional<Branches::TreePart> Branches::next_part(Transaction& transaction, const std::string& name, const CommitInfo& info) {
  const Branch branch = head(transaction, name);
  const auto commit = graph_.commit(transaction, branch.head);
  for (size_t i = 0; i < collections_.size(); ++i) {
    const CollectionState* state = state_of(*commit, i);
    if (!state || (commit->root_of(*state) && !stores_[i]->has_pending(transaction, branch.id))) continue;
    const TreeKind kind = tree_kind(info, i);
    if (!root_there(transaction, branch.head, i, kind)) return TreePart{.commit = branch.head, .collection = i, .kind = kind};
  }
  return std::nullopt;
}

// The plan of a merge says what changes; it is about the collections that its two sides don't show alike.
std::optional<Branches::TreePart> Branches::next_part(Transaction& transaction, MergeKind kind, CommitNumber into,
                                                      CommitNumber from, const CommitInfo& info) {
  const Change change = this->change(transaction, kind, into, from);
  if (change.has_two_parents && change.base == from) return std::nullopt;
  const auto ours = graph_.commit(transaction, into);
  for (size_t i = 0; i < collections_.size(); ++i) {
    const TreeKind tree = tree_kind(info, i);
    const State before = change.base == 0 ? 0 : state_view(transaction, change.base, i).state;
    const bool comes = before != state_view(transaction, change.theirs, i).state;
    const CollectionState* const here = state_of(*ours, i);
    if (here && (comes || !ours->root_of(*here)) && !root_there(transaction, into, i, tree))
      return TreePart{.commit = into, .collection = i, .kind = tree};
    if (!comes || !stores_[i]->purged_records(transaction).empty())
      continue;  // a purged collection's changes are read from its documents
    for (const CommitNumber side : {change.base, change.theirs}) {
      if (side == 0 || graph_.dropped(transaction, side)) continue;  // a dropped commit is refused with the merge
      const auto commit = graph_.commit(transaction, side);
      const CollectionState* const state = state_of(*commit, i);
      if (state && !root_known(transaction, *commit, *state)) return TreePart{.commit = side, .collection = i, .kind = tree};
    }
  }
  return std::nullopt;
}

std::optional<Branches::TreePart> Branches::next_part(Transaction& transaction, CommitNumber parent,
                                                      const std::set<size_t>& changed, const CommitInfo& info) {
  const auto commit = graph_.commit(transaction, parent);
  for (size_t i = 0; i < collections_.size(); ++i) {
    const CollectionState* const state = state_of(*commit, i);
    if (!state || (commit->root_of(*state) && !changed.contains(i))) continue;
    const TreeKind kind = tree_kind(info, i);
    if (!root_there(transaction, parent, i, kind)) return TreePart{.commit = parent, .collection = i, .kind = kind};
  }
  return std::nullopt;
}

bool Branches::make_part(Transaction& transaction, const TreePart& part) {
  const auto commit = graph_.commit(transaction, part.commit);
  if (!state_of(*commit, part.collection))
    throw OperationError(ErrorCode::data_corruption_detected, "a commit's tree of a collection that it doesn't know");
  const CollectionState& state = *state_of(*commit, part.collection);
  auto made = graph_.made_root(transaction, state.collection, part.commit);
  if (!made || roots_.kind(transaction, made->root) != part.kind)
    made = VersionGraph::MadeRoot{.root = roots_.empty(transaction, part.kind)};
  Bytes reached;
  std::vector<DocumentHash> some;
  if (const auto named = commit->root_of(state)) {
    some =
        roots_.some(transaction, *named, made->reached.empty() ? std::nullopt : std::optional(made->reached), part.documents_max);
    if (!some.empty()) reached = some.back().key;
  } else {
    if (!made->reached.empty() && made->reached.size() != sizeof(RecordId)) RowReader::fail();
    const RecordId before = made->reached.empty() ? 0 : static_cast<RecordId>(base::load_be64(made->reached.data()));
    SomeDocuments shown = some_documents(transaction, state.state, part.collection, before, part.documents_max);
    some = std::move(shown.documents);
    base::append_be64(reached, static_cast<uint64_t>(shown.last));
  }
  const bool more = some.size() == part.documents_max;
  const Hash root = roots_.update(transaction, made->root, std::move(some));
  graph_.put_made_root(transaction, state.collection, part.commit, {root, more ? std::move(reached) : Bytes()});
  return more;
}

Branches::SomeDocuments Branches::some_documents(Transaction& transaction, State state, size_t collection, RecordId before,
                                                 size_t documents_max) {
  BranchStore& store = *stores_[collection];
  SomeDocuments some;
  HashedDocuments hashed([&](Bytes key, const Hash& hash) { some.documents.push_back({std::move(key), hash}); });
  const auto scan = store.scan_set(transaction, behind(store.diff(transaction, {}, {.state = state}).only_b, before));
  for (size_t count = 0; count < documents_max && scan->next(); ++count) {
    hashed.add(scan->content());
    some.last = scan->record();
  }
  hashed.finish();
  return some;
}

void Branches::add_purged(Transaction& transaction, size_t collection, State before, State after,
                          std::vector<DocumentHash>& changes) {
  BranchStore& store = *stores_[collection];
  for (Bytes& key : store.purged_of(transaction, before).keys) {
    // The document may have been inserted again.
    if (store.find(transaction, {.state = after}, key) == 0) changes.push_back({std::move(key), std::nullopt});
  }
}

Branch Branches::head(Transaction& transaction, const std::string& name) const {
  auto branch = graph_.branch(transaction, name);
  if (!branch) throw OperationError(ErrorCode::bad_value, "there is no branch '" + name + "'");
  return std::move(*branch);
}

View Branches::view(Transaction& transaction, const Branch& branch, size_t collection) const {
  return stores_[collection]->view_of(transaction, state_view(transaction, branch.head, collection).state, branch.id,
                                      branch.segment);
}

View Branches::view(Transaction& transaction, CommitNumber commit, size_t collection) const {
  graph_.check_there(transaction, commit);
  return state_view(transaction, commit, collection);
}

View Branches::state_view(Transaction& transaction, CommitNumber commit, size_t collection) const {
  const auto held = graph_.commit(transaction, commit);  // the graph may not keep it
  const CollectionState* state = state_of(*held, collection);
  return {.state = state ? state->state : 0};
}

// Makes the commit that `branch` ends at from now on. The states of its collections have been filled in.
std::shared_ptr<const Commit> Branches::put(Transaction& transaction, Branch& branch, Commit commit, const CommitInfo& info) {
  commit.time_ms = info.time_ms;
  commit.metadata = info.metadata;
  if (info.graft) put_graft(transaction, commit, info);
  graph_.put_commit(transaction, commit);
  if (info.graft && info.graft->says_nothing && commit.parents.empty()) graph_.put_first(transaction, commit.number);
  branch.head = commit.number;
  graph_.put_branch(transaction, branch);
  return graph_.commit(transaction, commit.number);
}

void Branches::put_graft(Transaction& transaction, Commit& commit, const CommitInfo& info) {
  commit.grafted = true;
  commit.parents.clear();
  for (const Hash& id : info.graft->parents) commit.parents.push_back(graph_.find_or_put_absent(transaction, id));
  std::vector<CollectionState> had = std::move(commit.collections);
  commit.collections.clear();
  for (const Bytes& label : info.graft->collections) {
    const auto known = std::find_if(had.begin(), had.end(), [&](const CollectionState& one) { return one.label == label; });
    if (known != had.end()) {
      commit.collections.push_back(std::move(*known));
    } else {
      const auto same = [&](const Collection& one) { return one.label == label; };
      const auto found = std::find_if(collections_.begin(), collections_.end(), same);
      if (found == collections_.end())
        throw OperationError(ErrorCode::data_corruption_detected, "a commit has a collection that isn't here");
      const auto at = static_cast<size_t>(found - collections_.begin());
      commit.collections.push_back({found->parts.collection, label, 0, roots_.empty(transaction, tree_kind(info, at))});
    }
    if (info.graft->says_nothing) commit.collections.back().digest = {};
  }
}

std::shared_ptr<const Commit> Branches::begin(Transaction& transaction, const std::vector<RecordId>& newest,
                                              const CommitInfo& info) {
  base::check(newest.size() == stores_.size(), "a newest record a collection");
  Branch main{.name = "main", .id = graph_.new_branch_id(transaction), .segment = graph_.new_segment(transaction)};
  Commit commit{.number = graph_.new_commit_number()};
  for (size_t i = 0; i < stores_.size(); ++i) {
    stores_[i]->begin(transaction, commit.number, newest[i]);
    // Nothing of what was there before is read now: make_part makes its tree for the next commit.
    commit.collections.push_back({collections_[i].parts.collection, collections_[i].label, commit.number, {}});
    stores_[i]->opened(transaction, main.id, commit.number);
  }
  return put(transaction, main, std::move(commit), info);
}

Branch Branches::add(Transaction& transaction, const std::string& name, CommitNumber from) {
  if (graph_.branch(transaction, name)) throw OperationError(ErrorCode::namespace_exists, "there is a branch '" + name + "'");
  Branch branch{.name = name, .id = graph_.new_branch_id(transaction), .head = from, .segment = first_segment};
  if (segment_a_branch()) branch.segment = graph_.new_segment(transaction);
  graph_.hold(transaction, from);
  graph_.put_branch(transaction, branch);
  for (size_t i = 0; i < stores_.size(); ++i) stores_[i]->opened(transaction, branch.id, view(transaction, from, i).state);
  return branch;
}

Branch Branches::create(Transaction& transaction, const std::string& name, CommitNumber from) {
  return add(transaction, name, from);
}

Branch Branches::create(Transaction& transaction, const std::string& name, const std::string& from) {
  Branch parent = head(transaction, from);
  Branch branch = add(transaction, name, parent.head);
  if (layout_ == Layout::hybrid) {
    // The parent's head segment becomes an internal segment of both branches (§3.4).
    parent.segment = graph_.new_segment(transaction);
    graph_.put_branch(transaction, parent);
  }
  return branch;
}

void Branches::drop(Transaction& transaction, const std::string& name) {
  const Branch branch = head(transaction, name);
  for (size_t i = 0; i < stores_.size(); ++i) stores_[i]->closed(transaction, view(transaction, branch, i));
  graph_.remove_branch(transaction, name);
}

void Branches::reset(Transaction& transaction, const std::string& name, CommitNumber to) {
  Branch branch = head(transaction, name);
  graph_.hold(transaction, to);
  for (size_t i = 0; i < stores_.size(); ++i) {
    stores_[i]->closed(transaction, view(transaction, branch, i));
    stores_[i]->opened(transaction, branch.id, view(transaction, to, i).state);
  }
  branch.head = to;
  if (segment_a_branch()) branch.segment = graph_.new_segment(transaction);
  graph_.put_branch(transaction, branch);
}

std::shared_ptr<const Commit> Branches::commit(Transaction& transaction, const std::string& name, const CommitInfo& info,
                                               const std::set<size_t>& only, std::optional<Held>* held) {
  Branch branch = head(transaction, name);
  Commit commit{
      .number = graph_.new_commit_number(), .parents = {branch.head}, .collections = states(transaction, branch.head, info)};
  const size_t known = commit.collections.size();
  const Held* const given = held && *held ? &**held : nullptr;
  std::set<Stamp> others;
  std::vector<storage::CollectionId> dropped;
  std::map<size_t, Gone> gone;
  bool any = !says_all(*graph_.commit(transaction, branch.head));
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (!only.empty() && !only.contains(i)) continue;
    Folded folded = stores_[i]->commit(transaction, view(transaction, branch, i), commit.number, given);
    if (folded.state != commit.number) continue;
    any = true;
    others.insert(folded.held.others.begin(), folded.held.others.end());
    CollectionState& one = find_or_add(transaction, commit.collections, known, i, info);
    if (folded.listing && hides(*folded.listing))
      one = {one.collection, one.label, 0, roots_.empty(transaction, tree_kind(info, i))};
    if (folded.listing && !lists(*folded.listing)) dropped.push_back(one.collection);
    add_purged(transaction, i, one.state, folded.state, folded.changes);
    one.digest = roots_.update(transaction, root_changed(transaction, branch.head, one, i, info), std::move(folded.changes));
    one.state = folded.state;
    gone.emplace(i, std::move(folded.gone));
  }
  if (!any) return nullptr;
  erase(commit.collections, dropped);
  // The timestamp is taken this late because readers of the log wait for transactions that have one.
  const Stamp write = change_stamp(transaction);
  for (const auto& [i, rows] : gone) stores_[i]->save(transaction, branch.id, rows, write);
  if (held && !given) *held = Held{transaction.visible_below(), {others.begin(), others.end()}};
  return put(transaction, branch, std::move(commit), info);
}

CommitNumber Branches::first_parent(Transaction& transaction, CommitNumber commit) const {
  const auto of = graph_.commit(transaction, commit);
  if (of->parents.empty()) throw OperationError(ErrorCode::illegal_operation, "the first commit changed nothing");
  return of->parents.front();
}

Branches::Change Branches::change(Transaction& transaction, MergeKind kind, CommitNumber into, CommitNumber from) const {
  switch (kind) {
    case MergeKind::cherry_pick: return {first_parent(transaction, from), from, false};
    case MergeKind::revert: return {from, first_parent(transaction, from), false};
    case MergeKind::squash: return {graph_.merge_base(transaction, into, from), from, false};
    case MergeKind::merge: break;
  }
  return {graph_.merge_base(transaction, into, from), from, true};
}

Merged Branches::apply(Transaction& transaction, MergeKind kind, const std::string& into, CommitNumber from,
                       const MergeTerms& terms, const CommitInfo& info) {
  Branch branch = head(transaction, into);
  const Change change = this->change(transaction, kind, branch.head, from);
  if (change.has_two_parents && change.base == from) return {};
  return apply_change(transaction, std::move(branch), change, terms, info);
}

void Branches::check_committed(Transaction& transaction, const Branch& branch) const {
  for (const auto& store : stores_) {
    if (!store->has_pending(transaction, branch.id)) continue;
    throw OperationError(ErrorCode::illegal_operation, "branch '" + branch.name + "' has changes that are not committed");
  }
}

void Branches::advance(Transaction& transaction, const std::string& name, CommitNumber to) {
  check_committed(transaction, head(transaction, name));
  replay_advance(transaction, name, to);
}

void Branches::replay_advance(Transaction& transaction, const std::string& name, CommitNumber to) {
  Branch branch = head(transaction, name);
  graph_.hold(transaction, to);
  for (size_t i = 0; i < stores_.size(); ++i)
    stores_[i]->advance(transaction, view(transaction, branch, i), view(transaction, to, i).state);
  branch.head = to;
  if (segment_a_branch()) branch.segment = graph_.new_segment(transaction);
  graph_.put_branch(transaction, branch);
}

Merged Branches::apply_change(Transaction& transaction, Branch branch, const Change& change, const MergeTerms& terms,
                              const CommitInfo& info) {
  Merged merged;
  merged.kept = KeptBytes(terms.hold);
  graph_.hold(transaction, change.theirs);
  std::vector<MergePlan> plans;
  uint64_t changed = 0;
  check_committed(transaction, branch);
  for (size_t i = 0; i < stores_.size(); ++i) {
    const View before = change.base == 0 ? View{} : view(transaction, change.base, i);
    plans.push_back(plan_merge(transaction, *stores_[i], before, view(transaction, branch.head, i),
                               view(transaction, change.theirs, i), terms.of(i)));
    for (MergePlan::Conflict& conflict : plans.back().conflicts) merged.conflicts.push_back({std::move(conflict), i});
    merged.touched_by_both += plans.back().touched_by_both;
    merged.changed_bytes += plans.back().changed_bytes;
    changed += plans.back().changed_records;
  }
  if (!merged.conflicts.empty()) {
    for (MergePlan& plan : plans) merged.kept.take(plan.kept_conflicts);
    return merged;
  }
  std::vector<size_t> touched;
  for (size_t i = 0; i < stores_.size(); ++i) {
    const bool had = has(transaction, branch.head, i);
    const State state = state_view(transaction, branch.head, i).state;
    if (!plans[i].adoption.empty() || has_merged(transaction, change, branch.head, i, state) != had) touched.push_back(i);
  }
  if (touched.empty() && !change.has_two_parents) return merged;  // a merge's commit also says that the two branches have met

  Commit commit{
      .number = graph_.new_commit_number(), .parents = {branch.head}, .collections = states(transaction, branch.head, info)};
  if (change.has_two_parents) commit.parents.push_back(change.theirs);
  // Timestamps are taken this late because readers of the log wait for transactions that have one. Logging the merge takes one
  // for each document.
  transaction.expect_stamps(changed + stamps_beside);
  merged.generation = transaction.next_stamp();
  const size_t known = commit.collections.size();
  std::vector<storage::CollectionId> dropped;
  for (const size_t i : touched) {
    CollectionState& one = find_or_add(transaction, commit.collections, known, i, info);
    one.digest = root_changed(transaction, branch.head, one, i, info);
    // Trees may still name purged documents. Then the documents alone say what changed, as they do on other members.
    const bool purged = !stores_[i]->purged_records(transaction).empty();
    std::vector<DocumentHash> changes = purged ? changes_of(transaction, i, plans[i].adoption)
                                               : merge_changes(transaction, i, change, tree_kind(info, i), plans[i]);
    write_adoption(transaction, branch, i, one, commit.number, plans[i].adoption, {}, std::move(changes), true, merged.generation,
                   terms.interrupted);
    if (!has_merged(transaction, change, branch.head, i, one.state)) dropped.push_back(one.collection);
    merged.kept.take(plans[i].kept);
    merged.adoptions.emplace(i, std::move(plans[i].adoption));
  }
  erase(commit.collections, dropped);
  merged.theirs = change.theirs;
  merged.commit = put(transaction, branch, std::move(commit), info);
  return merged;
}

void Branches::write_adoption(Transaction& transaction, const Branch& branch, size_t collection, CollectionState& state,
                              CommitNumber commit, const BranchStore::Adoption& adoption, const BranchStore::Named& named,
                              std::vector<DocumentHash> changes, bool leaves_out_purged, Stamp generation,
                              const std::function<void()>& interrupted) {
  stores_[collection]->adopt(transaction, view(transaction, branch, collection), commit, adoption, named, generation,
                             interrupted);
  if (leaves_out_purged) add_purged(transaction, collection, state.state, commit, changes);
  state.state = commit;
  state.digest = roots_.update(transaction, state.digest, std::move(changes));
}

// If the sides' trees say what theirs alone changed, these documents need not be read.
std::vector<DocumentHash> Branches::merge_changes(Transaction& transaction, size_t collection, const Change& change,
                                                  const TreeKind& kind, MergePlan& plan) {
  std::vector<DocumentHash> changes = std::move(plan.settled);
  std::map<BytesView, RecordId> adopted;
  for (const auto& [key, record] : plan.adoption.adopted) {
    if (!plan.ours.contains(key)) adopted.emplace(key, record);
  }
  const auto hash_one = [&](const std::pair<const BytesView, RecordId>& one) {
    changes.push_back({Bytes(one.first), sha256(stores_[collection]->content(transaction, one.second).value())});
  };
  const Hash before = change.base == 0 ? roots_.empty(transaction, kind) : root(transaction, change.base, collection, kind);
  roots_.diff(transaction, before, root(transaction, change.theirs, collection, kind),
              [&](BytesView key, const std::optional<Hash>& theirs) {
                const auto one = adopted.find(key);
                const bool takes = one != adopted.end();
                if (takes && !theirs)
                  hash_one(*one);
                else if (takes || (!theirs && !plan.ours.contains(Bytes(key))))
                  changes.push_back({Bytes(key), theirs});
                if (takes) adopted.erase(one);
                return true;
              });
  // The same bytes were written again, perhaps after they had been purged.
  for (const auto& one : adopted) hash_one(one);
  return changes;
}

std::vector<DocumentHash> Branches::changes_of(Transaction& transaction, size_t collection,
                                               const BranchStore::Adoption& adoption) {
  std::vector<DocumentHash> changes;
  BranchStore& store = *stores_[collection];
  const auto gone = store.scan_set(transaction, adoption.removed);
  while (gone->next()) changes.push_back({key_of(gone->content()), std::nullopt});
  HashedDocuments come([&](Bytes key, const Hash& hash) { changes.push_back({std::move(key), hash}); });
  for (const auto& [key, record] : adoption.adopted) come.add(key, store.content(transaction, record).value());
  for (const auto& [key, document] : adoption.written) come.add(key, document);
  come.finish();
  return changes;
}

BranchStore::Named Branches::named_changes(Transaction& transaction, size_t collection, State before,
                                           const MergedElsewhere& merged, const BranchStore::Adoption& adoption) {
  BranchStore::Named named;
  std::unordered_set<BytesView> others;  // that the tree doesn't name any more, or with a document that is here
  if (const auto elsewhere = merged.named.find(collection); elsewhere != merged.named.end()) {
    for (const DocumentHash& one : elsewhere->second) {
      if (one.hash)
        named.added.push_back(one.key);
      else
        others.insert(one.key);
    }
  }
  for (const auto& [key, record] : adoption.adopted) others.insert(key);
  for (const auto& [key, document] : adoption.written) others.insert(key);
  if (before == 0 || others.empty()) return named;
  named.removed = stores_[collection]->purged_of(transaction, before, &others).keys;
  return named;
}

std::shared_ptr<const Commit> Branches::replay_merge(Transaction& transaction, const std::string& into,
                                                     const MergedElsewhere& merged, const CommitInfo& info, Stamp generation) {
  Branch branch = head(transaction, into);
  Commit commit{.number = graph_.new_commit_number(), .parents = {branch.head}};
  if (merged.has_two_parents) commit.parents.push_back(merged.theirs);
  const auto before = graph_.commit(transaction, branch.head);
  const auto adopt = [&](size_t i, CollectionState& one) {
    static const BranchStore::Adoption nothing;
    const auto found = merged.adoptions.find(i);
    const BranchStore::Adoption& adoption = found == merged.adoptions.end() ? nothing : found->second;
    one.digest = root_changed(transaction, branch.head, one, i, info);
    std::vector<DocumentHash> changes = changes_of(transaction, i, adoption);
    if (const auto elsewhere = merged.named.find(i); elsewhere != merged.named.end())
      changes.insert(changes.end(), elsewhere->second.begin(), elsewhere->second.end());
    BranchStore::Named named;
    if (merged.imported) named = named_changes(transaction, i, one.state, merged, adoption);
    if (merged.imported && adoption.empty() && named.empty() && one.state != 0) {  // only what the tree names is another
      one.digest = roots_.update(transaction, one.digest, std::move(changes));
      return;
    }
    write_adoption(transaction, branch, i, one, commit.number, adoption, named, std::move(changes), !merged.imported, generation,
                   {});
  };
  std::set<size_t> known_after;
  for (const auto& [label, root] : merged.roots) {
    const auto same = [&label = label](const Collection& one) { return one.label == label; };
    const auto found = std::find_if(collections_.begin(), collections_.end(), same);
    if (found == collections_.end())
      throw OperationError(ErrorCode::data_corruption_detected, "a merge is of a collection that isn't here");
    const auto i = static_cast<size_t>(found - collections_.begin());
    const CollectionState* const known = before->state_of(found->parts.collection);
    CollectionState one{found->parts.collection, label, known ? known->state : 0, {}};
    one.digest = known ? root_kept(transaction, branch.head, i, info) : roots_.empty(transaction, tree_kind(info, i));
    if (!known || merged.adoptions.contains(i)) {
      adopt(i, one);
    } else if (merged.imported && one.digest != root) {
      // Writes that took each other back have made the tree anew, of another kind.
      one.digest = root_changed(transaction, branch.head, one, i, info);
    }
    known_after.insert(i);
    if (one.digest != root && !(info.graft && info.graft->says_nothing))
      throw OperationError(ErrorCode::data_corruption_detected, "a merge of other documents than where it was decided");
    commit.collections.push_back(std::move(one));
  }
  for (const auto& [i, adoption] : merged.adoptions) {
    if (known_after.contains(i)) continue;
    const CollectionState* const known = before->state_of(collections_[i].parts.collection);
    CollectionState dropped{collections_[i].parts.collection, collections_[i].label, known ? known->state : 0,
                            roots_.empty(transaction, tree_kind(info, i))};
    if (known) dropped.digest = root_kept(transaction, branch.head, i, info);
    adopt(i, dropped);
    if (dropped.digest != roots_.empty(transaction, tree_kind(info, i)))
      throw OperationError(ErrorCode::data_corruption_detected, "a merge changes a collection that its commit doesn't know");
  }
  auto made = put(transaction, branch, std::move(commit), info);
  // Nobody shows the other documents that the tree names.
  const bool same_documents =
      std::all_of(merged.adoptions.begin(), merged.adoptions.end(), [](const auto& one) { return one.second.empty(); });
  if (merged.imported && same_documents) graph_.note_proof(transaction, *made, true);
  return made;
}

Branches::Swept Branches::sweep(Transaction& transaction, const Retention& retention, size_t commits_max, const Lost& lost,
                                const std::vector<CommitNumber>& held) {
  std::vector<CommitNumber> tips, names = held;
  for (const Branch& branch : graph_.branches(transaction)) tips.push_back(branch.head);
  for (const auto& [name, commit] : graph_.tags(transaction)) names.push_back(commit);
  const Graph graph = graph_.graph(transaction);
  std::vector<CommitNumber> goes = may_go(graph, tips, names, retention);
  if (goes.size() > commits_max) goes.resize(commits_max);
  return sweep(transaction, graph, std::move(goes), lost);
}

Branches::Swept Branches::replay_sweep(Transaction& transaction, std::vector<CommitNumber> commits, const Lost& lost) {
  std::sort(commits.begin(), commits.end());
  return sweep(transaction, graph_.graph(transaction), std::move(commits), lost);
}

// The commits are in ascending order.
Branches::Swept Branches::sweep(Transaction& transaction, const Graph& graph, std::vector<CommitNumber> goes, const Lost& lost) {
  Swept swept{.commits = goes.size()};
  if (goes.empty()) return swept;
  std::vector<CommitNumber> near;
  const NearestKept nearest(graph, goes);
  for (const CommitNumber commit : goes) {
    graph_.drop_commit(transaction, commit);
    for (const Collection& collection : collections_) graph_.remove_made_root(transaction, collection.parts.collection, commit);
    near.push_back(nearest.of(commit));
  }
  for (size_t i = 0; i < stores_.size(); ++i) {
    const auto state_of = [&](CommitNumber commit) { return commit == 0 ? View{} : state_view(transaction, commit, i); };
    // No commit that stays shows what a dropped commit alone shows: one commit that stays is enough to leave out most of the
    // records.
    RecordSet records;
    for (size_t at = 0; at < goes.size(); ++at)
      records |= stores_[i]->diff(transaction, state_of(goes[at]), state_of(near[at])).only_a;
    std::set<State> kept;
    for (const auto& [number, node] : graph) {
      if (!node.dropped && !std::binary_search(goes.begin(), goes.end(), number)) kept.insert(state_of(number).state);
    }
    records -= stores_[i]->shown_by_any(transaction, {kept.rbegin(), kept.rend()}, records);
    swept.records += stores_[i]->free(transaction, records, [&](RecordId record, Stamp generation, BytesView content) {
      if (lost) lost(i, record, generation, content);
    });
  }
  swept.dropped = std::move(goes);
  return swept;
}

uint64_t Branches::free_nodes(Transaction& transaction, const std::function<void()>& interrupted) {
  constexpr size_t at_once = 50'000;
  return roots_.free(transaction, graph_.roots(transaction), at_once, interrupted);
}

uint64_t Branches::purge(Transaction& transaction, size_t collection, BytesView key, const Lost& lost) {
  graph_.claim_branch_ids(transaction);  // no branch beside these exists by then
  std::vector<BranchId> branches;
  for (const Branch& branch : graph_.branches(transaction)) {
    branches.push_back(branch.id);
    // So a commit comes before this or after it, and the order is the same on every member of a set.
    graph_.put_branch(transaction, branch);
  }
  graph_.remove_made_roots(transaction,
                           collections_[collection].parts.collection);  // replayed commits are without it on every member
  return stores_[collection]->purge(transaction, key, branches, [&](RecordId record, Stamp generation, BytesView content) {
    if (lost) lost(collection, record, generation, content);
  });
}

}  // namespace versions
