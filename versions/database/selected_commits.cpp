#include "versions/database/selected_commits.h"

#include <algorithm>

#include "bson/builder.h"
#include "bson/validate.h"
#include "storage/engine/names.h"

namespace versions {

using base::ErrorCode;
using base::OperationError;

bool is_selected(const Commit& commit) {
  const auto valid = bson::validate(commit.metadata);
  return valid.ok() && valid.value().has(made_from);
}

SelectedCommits::SelectedCommits(BranchedDatabase& database, Transaction& transaction, std::set<std::string> collections)
    : database_(database), transaction_(transaction), names_(std::move(collections)) {
  for (const storage::CollectionId id : database.collections()) {
    const auto shared = database.versions_of(id);
    if (shared && names_.contains(std::string(storage::collection_of(shared->base.ns())))) ids_.insert(id);
  }
  for (const std::string& name : names_) {
    const auto is_it = [&](storage::CollectionId id) {
      return storage::collection_of(database.versions_of(id)->base.ns()) == name;
    };
    if (std::none_of(ids_.begin(), ids_.end(), is_it)) {
      throw OperationError(ErrorCode::namespace_not_found, "database '" + database.name() + "' has no collection '" + name +
                                                               "' with commits; views and time series can't be selected");
    }
  }
  const VersionGraph& graph = database.branches().graph();
  const Graph all = graph.graph(transaction);
  for (const CommitNumber number : parents_first(all)) {
    const auto commit = graph.commit(transaction, number);
    if (all.at(number).dropped || commit->digests != DigestKind::roots) continue;
    if (is_selected(*commit)) {
      throw OperationError(ErrorCode::illegal_operation,
                           "database '" + database.name() +
                               "' is itself some collections of another one: it can be fetched as a "
                               "whole alone");
    }
    pack::Commit one{.time_ms = commit->time_ms, .metadata = metadata(*commit)};
    const auto known = [&](CommitNumber parent) { return selected_.contains(parent); };
    if (!std::all_of(commit->parents.begin(), commit->parents.end(), known)) continue;
    for (const CommitNumber parent : commit->parents) one.parents.push_back(selected_.at(parent));
    for (const CollectionState& state : commit->collections) {
      if (has(state.collection)) one.roots.push_back({.uuid = state.label, .root = state.digest, .tree = {}});
    }
    numbers_.emplace(selected_[number] = pack::id_of(one), number);
  }
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

Bytes SelectedCommits::metadata(const Commit& commit) const {
  bson::Builder out;
  out.append_all(bson::DocumentView(commit.metadata));
  {
    auto from = out.object(made_from);
    from.append("commit", base::to_hex(view(commit.id)));
    auto names = from.array("collections");
    for (const std::string& name : names_) names.append(name);
  }
  return Bytes(out.done().bytes());
}

}  // namespace versions
