#include "versions/branch/branches.h"

#include <algorithm>

namespace versions {

using base::ErrorCode;
using base::OperationError;

Branches::Branches(storage::Engine& engine, uint32_t database, Layout layout, std::vector<Collection> collections)
    : graph_(engine, database), layout_(layout), collections_(std::move(collections)) {
  for (const Collection& collection : collections_) stores_.push_back(BranchStore::open(layout, collection.parts));
}

void Branches::add(Collection collection) {
  stores_.push_back(BranchStore::open(layout_, collection.parts));
  collections_.push_back(std::move(collection));
}

// Of every collection, with the digests that commits behind this one begin with: those that came after it have nothing in it.
std::vector<CollectionState> Branches::states(Transaction& transaction, CommitNumber commit) {
  std::vector<CollectionState> states = graph_.commit(transaction, commit)->collections;
  for (size_t i = 0; i < collections_.size(); ++i) {
    const Collection& collection = collections_[i];
    const auto same = [&](const CollectionState& one) { return one.collection == collection.parts.collection; };
    const auto found = std::find_if(states.begin(), states.end(), same);
    if (found == states.end()) states.push_back({collection.parts.collection, collection.label, 0, {}});
    else found->digest = digest(transaction, commit, i);
  }
  return states;
}

SetDigest Branches::digest(Transaction& transaction, CommitNumber number, size_t collection) {
  const auto commit = graph_.commit(transaction, number);
  const auto id = collections_[collection].parts.collection;
  const CollectionState* state = commit->state_of(id);
  if (!state) return {};
  if (!commit->parents.empty()) return state->digest;
  if (const auto known = graph_.first_digest(transaction, id)) return *known;
  SetDigest digest;
  const auto scan = stores_[collection]->scan(transaction, {.state = state->state});
  while (scan->next()) digest += digest_of(key_of(scan->content()), scan->content());
  if (transaction.writes()) graph_.put_first_digest(transaction, id, digest);
  return digest;
}

Branch Branches::head(Transaction& transaction, const std::string& name) const {
  auto branch = graph_.branch(transaction, name);
  if (!branch) throw OperationError(ErrorCode::bad_value, "there is no branch '" + name + "'");
  return std::move(*branch);
}

View Branches::view(Transaction& transaction, const Branch& branch, size_t collection) const {
  View view = this->view(transaction, branch.head, collection);
  view.branch = branch.id;
  view.segment = branch.segment;
  return view;
}

View Branches::view(Transaction& transaction, CommitNumber commit, size_t collection) const {
  const CollectionState* state = graph_.commit(transaction, commit)->state_of(collections_[collection].parts.collection);
  return {.state = state ? state->state : 0};
}

// The commit that `branch` is at next; what a collection's state is has been filled in.
std::shared_ptr<const Commit> Branches::put(Transaction& transaction, Branch& branch, Commit commit, const CommitInfo& info) {
  commit.time_ms = info.time_ms;
  commit.metadata = info.metadata;
  graph_.put_commit(transaction, commit);
  branch.head = commit.number;
  graph_.put_branch(transaction, branch);
  return graph_.commit(transaction, commit.number);
}

std::shared_ptr<const Commit> Branches::begin(Transaction& transaction, const std::vector<RecordId>& newest, const CommitInfo& info) {
  base::check(newest.size() == stores_.size(), "a newest record a collection");
  Branch main{.name = "main", .id = graph_.new_branch_id(transaction), .segment = graph_.new_segment(transaction)};
  Commit commit{.number = graph_.new_commit_number()};
  for (size_t i = 0; i < stores_.size(); ++i) {
    stores_[i]->begin(transaction, commit.number, newest[i]);
    // What was there before is not read now: its digest is made for the second commit (digest).
    commit.collections.push_back({collections_[i].parts.collection, collections_[i].label, commit.number, {}});
    stores_[i]->opened(transaction, main.id, commit.number);
  }
  return put(transaction, main, std::move(commit), info);
}

Branch Branches::add(Transaction& transaction, const std::string& name, CommitNumber from) {
  if (graph_.branch(transaction, name)) throw OperationError(ErrorCode::namespace_exists, "there is a branch '" + name + "'");
  Branch branch{.name = name, .id = graph_.new_branch_id(transaction), .head = from, .segment = first_segment};
  if (segment_a_branch()) branch.segment = graph_.new_segment(transaction);
  graph_.put_branch(transaction, branch);
  for (size_t i = 0; i < stores_.size(); ++i) stores_[i]->opened(transaction, branch.id, view(transaction, from, i).state);
  return branch;
}

Branch Branches::create(Transaction& transaction, const std::string& name, CommitNumber from) { return add(transaction, name, from); }

Branch Branches::create(Transaction& transaction, const std::string& name, const std::string& from) {
  Branch parent = head(transaction, from);
  Branch branch = add(transaction, name, parent.head);
  if (layout_ == Layout::hybrid) {
    // The parent's head segment becomes an internal one of both (§3.4).
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
  for (size_t i = 0; i < stores_.size(); ++i) {
    stores_[i]->closed(transaction, view(transaction, branch, i));
    stores_[i]->opened(transaction, branch.id, view(transaction, to, i).state);
  }
  branch.head = to;
  if (segment_a_branch()) branch.segment = graph_.new_segment(transaction);
  graph_.put_branch(transaction, branch);
}

std::shared_ptr<const Commit> Branches::commit(Transaction& transaction, const std::string& name, const CommitInfo& info) {
  Branch branch = head(transaction, name);
  Commit commit{.number = graph_.new_commit_number(), .parents = {branch.head}, .collections = states(transaction, branch.head)};
  bool any = false;
  for (size_t i = 0; i < stores_.size(); ++i) {
    const Folded folded = stores_[i]->commit(transaction, view(transaction, branch, i), commit.number);
    if (folded.records_added + folded.records_removed == 0) continue;
    any = true;
    for (CollectionState& one : commit.collections) {
      if (one.collection != collections_[i].parts.collection) continue;
      one.state = folded.state;
      one.digest += folded.added;
      one.digest -= folded.removed;
    }
  }
  if (!any) return nullptr;
  return put(transaction, branch, std::move(commit), info);
}

Merged Branches::merge(Transaction& transaction, const std::string& into, CommitNumber from, const Resolver& resolve, const CommitInfo& info,
                       Stamp generation) {
  Branch branch = head(transaction, into);
  Merged merged;
  const CommitNumber base = graph_.common_ancestor(transaction, branch.head, from);
  if (base == from) return merged;
  std::vector<MergePlan> plans;
  for (size_t i = 0; i < stores_.size(); ++i) {
    if (stores_[i]->has_pending(transaction, branch.id)) {
      throw OperationError(ErrorCode::illegal_operation, "branch '" + into + "' has changes that are not committed");
    }
    const View before = base == 0 ? View{} : view(transaction, base, i);
    plans.push_back(plan_merge(transaction, *stores_[i], before, view(transaction, branch.head, i), view(transaction, from, i), resolve));
    for (const MergePlan::Conflict& conflict : plans.back().conflicts) merged.conflicts.push_back({conflict, i});
    merged.touched_by_both += plans.back().touched_by_both;
    merged.changed_bytes += plans.back().changed_bytes;
  }
  if (!merged.conflicts.empty()) return merged;

  Commit commit{.number = graph_.new_commit_number(), .parents = {branch.head, from}, .collections = states(transaction, branch.head)};
  for (size_t i = 0; i < stores_.size(); ++i) {
    const auto id = collections_[i].parts.collection;
    for (CollectionState& one : commit.collections) {
      if (one.collection != id) continue;
      one.digest += digest(transaction, from, i);
      if (base != 0) one.digest -= digest(transaction, base, i);
      one.digest += plans[i].added;
      one.digest -= plans[i].removed;
      if (plans[i].adoption.empty()) continue;
      stores_[i]->adopt(transaction, view(transaction, branch, i), commit.number, plans[i].adoption, generation);
      one.state = commit.number;
    }
  }
  merged.commit = put(transaction, branch, std::move(commit), info);
  return merged;
}

}  // namespace versions
