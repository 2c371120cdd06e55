#include "versions/database/selected_commits.h"

#include <algorithm>

#include "bson/builder.h"
#include "storage/engine/names.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

SelectedCommits::SelectedCommits(BranchedDatabase& database, Transaction& transaction, Selection selection,
                                 const Filtering& filtering, const std::function<void()>& interrupted)
    : database_(database), transaction_(transaction), selection_(std::move(selection)) {
  choose_collections(filtering);
  const VersionGraph& graph = database.branches().graph();
  const Graph all = graph.graph(transaction);
  for (const CommitNumber number : parents_first(all)) {
    if (interrupted) interrupted();
    const auto commit = graph.commit(transaction, number);
    if (all.at(number).dropped || commit->digests != DigestKind::roots) continue;
    if (selection_of(commit->metadata)) {
      throw OperationError(
          ErrorCode::illegal_operation,
          "database '" + database.name() + "' is itself a part of another one: it can be fetched as a whole alone");
    }
    pack::Commit one{.time_ms = commit->time_ms, .metadata = metadata(*commit)};
    const auto known = [&](CommitNumber parent) { return selected_.contains(parent); };
    if (!std::all_of(commit->parents.begin(), commit->parents.end(), known)) continue;
    for (const CommitNumber parent : commit->parents) one.parents.push_back(selected_.at(parent));
    for (const CollectionState& state : commit->collections) {
      const auto found = collections_.find(state.collection);
      if (found == collections_.end()) continue;
      if (found->second.filtered) filtered_[{number, state.collection}] = found->second.filtered->root(*commit);
      one.roots.push_back({.uuid = state.label, .root = root(*commit, state), .tree = {}});
    }
    numbers_.emplace(selected_[number] = pack::id_of(one), number);
  }
  for (auto& [id, one] : collections_) {
    if (one.filtered) one.filtered->end();
  }
}

void SelectedCommits::choose_collections(const Filtering& filtering) {
  std::set<std::string> missing = selection_.collections;
  for (const storage::CollectionId id : database_.collections()) {
    const auto shared = database_.versions_of(id);
    if (!shared) continue;
    const std::string name(storage::collection_of(shared->base.ns()));
    if (!selection_.collections.contains(name)) continue;
    missing.erase(name);
    Selected& one = collections_[id] = {.shared = shared, .filtered = nullptr};
    const auto filter = selection_.filters.find(name);
    if (filter == selection_.filters.end()) continue;
    one.filtered = std::make_unique<FilteredRoots>(
        FilteredRoots::With{.database = database_,
                            .transaction = transaction_,
                            .collection = *shared,
                            .filter = filter->second,
                            .matches = filtering.compile(filter->second, shared->base.options().collator),
                            .known = *filtering.known,
                            .interrupted = filtering.interrupted,
                            .old_nodes_bytes = filtering.old_nodes_bytes});
  }
  if (missing.empty()) return;
  throw OperationError(ErrorCode::namespace_not_found, "database '" + database_.name() + "' has no collection '" +
                                                           *missing.begin() +
                                                           "' with commits; views and time series can't be selected");
}

const Hash& SelectedCommits::id(CommitNumber number) const {
  if (const auto found = selected_.find(number); found != selected_.end()) return found->second;
  throw OperationError(
      ErrorCode::illegal_operation,
      "commit " + base::to_hex(view(database_.branches().graph().commit(transaction_, number)->id)).substr(0, 16) +
          " comes from commits that retention dropped, or that a shallow history doesn't have: collections of it "
          "can't be selected");
}

std::optional<CommitNumber> SelectedCommits::find(const Hash& id) const {
  const auto found = numbers_.find(id);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::set<storage::CollectionId> SelectedCommits::collections() const {
  std::set<storage::CollectionId> ids;
  for (const auto& [id, one] : collections_) ids.insert(id);
  return ids;
}

Hash SelectedCommits::root(const Commit& commit, const CollectionState& state) const {
  const auto found = filtered_.find({commit.number, state.collection});
  return found == filtered_.end() ? state.digest : found->second;
}

bool SelectedCommits::show(CommitRows::Row& row) const {
  const Selected& one = collections_.at(row.collection);
  if (!one.filtered) return true;
  if (row.named) refuse_purged(*one.shared);
  for (std::optional<Bytes>* side : {&row.before, &row.after}) {
    if (*side && !one.filtered->matches(bson::DocumentView(**side))) side->reset();
  }
  return row.before || row.after;
}

Bytes SelectedCommits::metadata(const Commit& commit) const {
  bson::Builder out;
  out.append_all(bson::DocumentView(commit.metadata));
  {
    auto from = out.object(made_from);
    from.append("commit", base::to_hex(view(commit.id)));
    selection_.append_to(from);
  }
  return Bytes(out.done().bytes());
}

}  // namespace versions
