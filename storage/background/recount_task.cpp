#include "storage/background/recount_task.h"

#include <algorithm>

#include "storage/background/recount.h"

namespace storage {

bool RecountTask::counted(CollectionId id) const {
  return std::find(to_recount_.begin(), to_recount_.end(), id) == to_recount_.end();
}

bool RecountTask::step(const Round& round) {
  if (!round.draining && !round.quiet) return false;
  struct Urgent {};
  while (!to_recount_.empty()) {
    const auto collection = tracked_.find(to_recount_.back());
    try {
      if (collection && !recount(engine_, *collection, [this] {
            if (scheduler_.stopping() || scheduler_.hold_awaited() || queue_.size() > 0) throw Urgent{};
          }))
        return false;
    } catch (const Urgent&) {
      return true;
    }
    to_recount_.pop_back();
    if (collection) return true;
  }
  return false;
}

void RecountTask::finish() {
  if (to_recount_.empty()) state_.end_run();
}

}  // namespace storage
