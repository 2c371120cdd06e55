#include "server/commands/versions/merge_progress.h"

#include <algorithm>

#include "server/core/operation.h"

namespace server {

namespace {

constexpr int64_t steps_at_once = 512;

}  // namespace

uint64_t versions_between(storage::Transaction& transaction, versions::BranchedDatabase& database, versions::CommitNumber a,
                          versions::CommitNumber b) {
  uint64_t count = 0;
  const auto view = [&](versions::SharedCollection& shared, versions::CommitNumber commit) {
    return commit == 0 ? versions::View{} : shared.view_of(transaction, commit);
  };
  for (const storage::CollectionId id : database.collections()) {
    const auto shared = database.versions_of(id);
    if (!shared) continue;
    const auto difference = shared->store.diff(transaction, view(*shared, a), view(*shared, b));
    count += difference.only_a.count() + difference.only_b.count();
  }
  return count;
}

std::function<void()> merge_steps(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                                  versions::CommitNumber base, versions::CommitNumber ours, versions::CommitNumber theirs) {
  const uint64_t taken = versions_between(transaction, database, base, theirs);
  const uint64_t total = 3 * taken + versions_between(transaction, database, base, ours);
  Progress progress{.what = "Merging documents", .done = 0, .total = static_cast<int64_t>(total)};
  return [&op, progress]() mutable {
    if (++progress.done % steps_at_once == 0) {
      // Where documents were changed by both sides, and where few unique indexes are, the plan's steps differ from this count.
      Progress shown = progress;
      shown.done = std::min(shown.done, shown.total);
      op.set_progress(std::move(shown));
    }
    op.check_interrupt();
  };
}

}  // namespace server
