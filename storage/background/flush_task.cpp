#include "storage/background/flush_task.h"

#include "storage/engine/internals.h"

namespace storage {

namespace {
constexpr size_t flush_count = 64;
}

bool FlushTask::step(const Round& round) {
  return (round.idle || round.draining || half_full()) && flush(false);
}

// While drafts are open the cache keeps what it has, and drops what saves least.
void FlushTask::relieve() {
  if (!half_full()) return;
  if (const auto alone = engine_.internals().drafts.try_alone(false)) flush(false);
}

bool FlushTask::half_full() const {
  return write_backs_.bytes() > options_.in_force().writeback_cache_bytes / 2;
}

bool FlushTask::flush(bool everything) {
  DedupFigures& counts = figures_.counts();
  bool any = false;
  do {
    const auto batch = write_backs_.take_best(flush_count);
    if (batch.empty()) break;
    any = true;
    counts.write_back_in_hand = batch.size();
    flush_write_backs(engine_, batch, sources_.stores(), counts.write_back);
  } while (everything || write_backs_.bytes() > options_.in_force().writeback_cache_bytes / 4);
  counts.write_back_in_hand = 0;
  if (any) figures_.publish(false);
  return any;
}

}  // namespace storage
