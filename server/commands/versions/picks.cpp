#include "server/commands/versions/picks.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "server/commands/shared/branches.h"

namespace server {

using versions::BranchedDatabase;
using versions::CommitNumber;

namespace {

void check_kept(storage::Transaction& transaction, const versions::VersionGraph& graph, CommitNumber number) {
  if (!graph.dropped(transaction, number)) return;
  throw base::OperationError(
      base::ErrorCode::illegal_operation,
      "commit " + hex(graph.commit(transaction, number)->id) +
          (graph.absent(transaction, number) ? " can't be picked: it lies behind the boundary of a shallow history"
                                             : " can't be picked: retention has dropped it"));
}

// History was shallow once, so commits' numbers say nothing of their order.
std::vector<CommitNumber> picks_by_order(storage::Transaction& transaction, const versions::VersionGraph& graph,
                                         CommitNumber head, CommitNumber onto) {
  const versions::Graph all = graph.graph(transaction);
  const std::vector<CommitNumber> order = versions::parents_first(all);
  std::set<CommitNumber> ours{head}, theirs{onto};
  std::vector<CommitNumber> picks;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const auto& parents = all.at(*at).parents;
    if (theirs.contains(*at)) theirs.insert(parents.begin(), parents.end());
    if (!ours.contains(*at)) continue;
    ours.insert(parents.begin(), parents.end());
    if (theirs.contains(*at) || parents.size() != 1) continue;
    check_kept(transaction, graph, *at);
    picks.push_back(*at);
  }
  std::reverse(picks.begin(), picks.end());
  return picks;
}

}  // namespace

std::vector<CommitNumber> commits_to_pick(storage::Transaction& transaction, BranchedDatabase& database, CommitNumber head,
                                          CommitNumber onto) {
  const versions::VersionGraph& graph = database.branches().graph();
  (void)graph.merge_base(transaction, head, onto);  // throws if it isn't here
  if (graph.grafted(transaction)) return picks_by_order(transaction, graph, head, onto);
  // Parents have lower numbers, so a commit is met after all its descendants.
  std::map<CommitNumber, bool> open{{head, false}};  // whether `onto` has the commit too
  open[onto] = true;
  std::vector<CommitNumber> picks;
  while (std::any_of(open.begin(), open.end(), [](const auto& one) { return !one.second; })) {
    const auto [number, known] = *open.rbegin();
    open.erase(number);
    const auto commit = graph.commit(transaction, number);
    for (const CommitNumber parent : commit->parents) open[parent] |= known;
    if (known || commit->parents.size() != 1) continue;
    check_kept(transaction, graph, number);
    picks.push_back(number);
  }
  std::reverse(picks.begin(), picks.end());
  return picks;
}

std::vector<CommitNumber> commits_to_pick(storage::Transaction& transaction, BranchedDatabase& database,
                                          const MergeRequest::Rebase& rebase) {
  const versions::VersionGraph& graph = database.branches().graph();
  const auto head = graph.find(transaction, rebase.head), onto = graph.find(transaction, rebase.onto);
  if (!head || !onto)
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a rebase that waits names a commit that isn't here");
  return commits_to_pick(transaction, database, *head, *onto);
}

bool is_line(storage::Transaction& transaction, BranchedDatabase& database, CommitNumber from, CommitNumber to) {
  const versions::VersionGraph& graph = database.branches().graph();
  const bool by_numbers = !graph.grafted(transaction);
  while (from != to) {
    const auto commit = graph.commit(transaction, from);
    if (commit->parents.size() != 1 || (by_numbers && from < to)) return false;
    from = commit->parents.front();
  }
  return true;
}

}  // namespace server
