#include "storage/background/save_task.h"

#include "storage/engine/engine.h"
#include "storage/engine/transaction.h"

namespace storage {

namespace {
constexpr int64_t save_every_us = 10'000'000;
}

bool SaveTask::step(const Round& round) {
  const bool now = round.draining || round.quiet;
  if (now || needs_.engine.clock().monotonic_us() - saved_us_ >= save_every_us) save(now);
  return false;
}

void SaveTask::save(bool with_open_batches) {
  const base::Clock& clock = needs_.engine.clock();
  const int64_t now_us = clock.monotonic_us();
  // A content that was committed lately may not be in the queue yet, so the timestamp is two seconds old.
  const Stamp seen = static_cast<Stamp>(clock.wall_ms() / 1000 - 2) << 32;
  const bool all_seen = needs_.queue.size() == 0;
  const auto places = needs_.tracked.unsaved(all_seen ? std::optional(seen) : std::nullopt, needs_.missed);
  Partitions& partitions = needs_.partitions;
  if (places.empty() && !partitions.dirty()) return;
  saved_us_ = now_us;
  partitions.flush();
  // One transaction holds both, so that the place at which encoding goes on fits the features that the encoder can find.
  in_transaction(needs_.engine, [&](Transaction& transaction) {
    partitions.write(transaction);
    for (const auto& place : places) needs_.state.put(transaction, place.id, place.state);
  });
  partitions.written();
  needs_.tracked.saved(places);
  needs_.figures.publish(with_open_batches);
  // Nobody need hold collections that were dropped or became idle.
  needs_.sources.clear();
}

void SaveTask::forget(CollectionId collection) {
  in_transaction(needs_.engine, [&](Transaction& transaction) { needs_.state.remove(transaction, collection); });
}

}  // namespace storage
