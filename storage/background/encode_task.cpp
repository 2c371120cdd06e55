#include "storage/background/encode_task.h"

#include <algorithm>

#include "storage/contents/record_store_state.h"

namespace storage {

bool EncodeTask::step(const Round&) {
  if (!encode_batch()) return false;
  // Under load the cache fills first, so that the deltas that are written are the best of many.
  needs_.flush.relieve();
  // However much clients write, the pass that somebody waits for goes on.
  needs_.cold.answer_some();
  return true;
}

bool EncodeTask::encode_batch() {
  // The task hurries only when the queue is about to refuse names; contents that were merely put off are read back later.
  DedupQueue& queue = needs_.queue;
  const bool pressed = queue.size() > queue.count_max() / 2;
  // It becomes 0 last, because a thread that watches the queue must see the result.
  struct InHand {
    std::atomic<size_t>& count;
    ~InHand() { count = 0; }
  } in_hand{in_hand_};
  // This comes before `take`, because a thread that watches the queue must see the works somewhere.
  in_hand_ = std::min(batch_count, queue.size());
  const auto batch = queue.take(batch_count, batch_bytes);
  in_hand_ = batch.size();
  if (batch.empty()) return false;
  needs_.partitions.set_pressure(pressed);
  std::unordered_map<CollectionId, RecordId> seen;
  for (const auto& work : batch) {
    if (work.kind == DedupWork::Kind::dropped) {
      for (DropListener* listener : listeners_) listener->forget(work.collection);
      continue;
    }
    encode(work);
    if (work.kind == DedupWork::Kind::written) seen[work.collection] = std::max(seen[work.collection], work.record);
  }
  for (const auto& [collection, record] : seen) needs_.tracked.encoded(collection, record);
  needs_.tidy.begin_again();
  needs_.figures.publish(false);
  return true;
}

void EncodeTask::encode(const DedupWork& work) {
  const dedup::ContentId before{work.collection, work.record, work.previous};
  if (work.previous) needs_.write_backs.invalidate(before);
  const auto collection = needs_.sources.collection(work.collection);
  if (!collection) return;
  if (work.kind == DedupWork::Kind::removed) {
    if (const Partition* part = needs_.partitions.find(*collection)) part->encoder->forget(before);
    return;
  }
  const dedup::ContentId id{work.collection, work.record, work.generation};
  if (work.content) {
    needs_.encoder.encode(*collection, id, work.previous, work.previous_is_base, *work.content);
  } else if (const auto content = needs_.sources.fetch(id)) {
    ++needs_.figures.counts().caught_up;
    needs_.encoder.encode(*collection, id, work.previous, work.previous_is_base, *content);
  }
}

void EncodeTask::finish() {
  for (const auto& work : needs_.queue.take(SIZE_MAX, SIZE_MAX)) {
    if (work.kind != DedupWork::Kind::written || !work.previous) continue;
    if (const auto collection = needs_.tracked.find(work.collection)) collection->records().state().miss(work.generation);
  }
}

}  // namespace storage
