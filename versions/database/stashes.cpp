// This part of BranchedDatabase puts changes of a branch aside, and says what commits must fulfil.
#include <algorithm>
#include <charconv>

#include "versions/database/branched_database.h"
#include "versions/log/branch_change.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

namespace {

// Reads what stash_name made.
BranchedDatabase::Stash stash_of(std::string_view name, CommitNumber commit) {
  BranchedDatabase::Stash stash;
  stash.commit = commit;
  name.remove_prefix(name.find('/') + 1);
  const auto end = std::from_chars(name.data(), name.data() + name.size(), stash.number);
  if (end.ec != std::errc() || end.ptr == name.data() + name.size() || *end.ptr != '/')
    throw OperationError(ErrorCode::data_corruption_detected, "a stash has a name that no stash has");
  stash.branch = name.substr(static_cast<size_t>(end.ptr - name.data()) + 1);
  return stash;
}

}  // namespace

std::optional<BranchedDatabase::Stash> BranchedDatabase::stash(Transaction& transaction, const std::string& name,
                                                               const CommitInfo& info, const Lost& lost) {
  const Branch before = branch(transaction, {.name = name});
  check_no_merge(transaction, before);
  if (!has_pending(transaction, before.id)) return std::nullopt;
  const auto commit = this->commit(transaction, name, info);
  if (!commit) return std::nullopt;
  const std::vector<Stash> others = stashes(transaction);
  Stash made{.number = others.empty() ? 1 : others.front().number + 1, .branch = name, .commit = commit->number};
  create_tag(transaction, stash_name(made.number, name), made.commit);
  reset(transaction, name, before.head, lost);
  return made;
}

std::vector<BranchedDatabase::Stash> BranchedDatabase::stashes(Transaction& transaction) const {
  std::vector<Stash> all;
  for (const auto& [name, commit] : branches_.graph().tags(transaction)) {
    if (is_stash_name(name)) all.push_back(stash_of(name, commit));
  }
  std::sort(all.begin(), all.end(), [](const Stash& a, const Stash& b) { return a.number > b.number; });
  return all;
}

void BranchedDatabase::drop_stash(Transaction& transaction, uint64_t number) {
  for (const Stash& one : stashes(transaction)) {
    if (one.number == number) return drop_tag(transaction, stash_name(number, one.branch));
  }
  throw OperationError(ErrorCode::namespace_not_found, "database '" + name_ + "' has no stash " + std::to_string(number));
}

// A stash is what its commit changed against its parent, so both stay.
std::vector<CommitNumber> BranchedDatabase::held_by_stashes(Transaction& transaction) const {
  std::vector<CommitNumber> held;
  for (const Stash& one : stashes(transaction)) {
    const auto commit = branches_.graph().commit(transaction, one.commit);
    held.insert(held.end(), commit->parents.begin(), commit->parents.end());
  }
  return held;
}

BranchedDatabase::Planned BranchedDatabase::plan_pick(Transaction& transaction, const Branch& branch,
                                                      const MergeRequest& request) {
  const InUse in_use(*this);
  const MergeTerms terms = terms_of(transaction, branch, request);
  const Branches::Change change = branches_.change(transaction, request.kind, branch.head, request.from);
  Planned planned;
  planned.kept = KeptBytes(request.hold);
  for (size_t i = 0; i < in_order_.size(); ++i) {
    SharedCollection& shared = *in_order_[i];
    const storage::CollectionId id = shared.base.id();
    const bool was = branches_.has(transaction, change.base, i), is = branches_.has(transaction, change.theirs, i);
    const bool here = branches_.has(transaction, branch, i);
    MergePlan plan = plan_merge(transaction, shared.store, shared.view_of(transaction, change.base),
                                shared.view_of(transaction, branch), shared.view_of(transaction, change.theirs), terms.of(i));
    if (!here && (is != was || !plan.adoption.empty()) && is) planned.made.push_back(id);
    if (here && was && !is) planned.dropped.push_back(id);
    planned.touched_by_both += plan.touched_by_both;
    plan.kept_conflicts.release();
    for (MergePlan::Conflict& one : plan.conflicts) {
      terms.interrupted();
      const RecordId record = one.ours != 0 ? one.ours : one.theirs != 0 ? one.theirs : one.base;
      const auto content = shared.store.content(transaction, record);
      bson::Builder document;
      if (content) document.append("_id", static_cast<bson::ValueView>(bson::DocumentView(*content).find("_id")));
      planned.conflicts.push_back({.collection = collection_name(shared), .id = document.done(), .paths = std::move(one.paths)});
      planned.kept.add(planned.conflicts.back().bytes());
    }
    if (!plan.adoption.empty()) planned.plans.emplace(id, std::move(plan));
  }
  return planned;
}

bson::Document BranchedDatabase::commit_validators(Transaction& transaction) const {
  Bytes row = branches_.graph().validators(transaction);
  return row.empty() ? bson::Document() : bson::Document(std::move(row));
}

void BranchedDatabase::set_commit_validators(Transaction& transaction, const bson::Document& validators) {
  branches_.graph().put_validators(transaction, validators.bytes());
  append_to_log(transaction, log::SetCommitValidators{.validators = validators}.encode());
}

}  // namespace versions
