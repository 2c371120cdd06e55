#include "server/commands/versions/picks.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "server/commands/shared/branches.h"

namespace server {

using versions::BranchedDatabase;
using versions::CommitNumber;

std::vector<CommitNumber> commits_to_pick(storage::Transaction& transaction, BranchedDatabase& database, CommitNumber head,
                                          CommitNumber onto) {
  const versions::VersionGraph& graph = database.branches().graph();
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
    if (graph.dropped(transaction, number))
      throw base::OperationError(base::ErrorCode::illegal_operation,
                                 "commit " + hex(commit->id) + " can't be picked: retention has dropped it");
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
  while (from > to) {
    const auto commit = database.branches().graph().commit(transaction, from);
    if (commit->parents.size() != 1) return false;
    from = commit->parents.front();
  }
  return from == to;
}

}  // namespace server
