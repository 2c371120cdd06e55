// This task encodes what is queued. It is the most urgent one: everything else can wait longer.
#pragma once

#include <atomic>
#include <vector>

#include "storage/background/cold_task.h"
#include "storage/background/content_encoder.h"
#include "storage/background/dedup_queue.h"
#include "storage/background/flush_task.h"
#include "storage/background/task.h"
#include "storage/background/tidy_task.h"

namespace storage {

class EncodeTask final : public Task {
 public:
  // A step encodes a batch of contents that are small enough to be in hand together.
  static constexpr size_t batch_count = 64;
  static constexpr size_t batch_bytes = 1 << 20;

  struct Needs {
    DedupQueue& queue;
    Partitions& partitions;
    TrackedCollections& tracked;
    Sources& sources;
    ContentEncoder& encoder;
    dedup::WritebackCache& write_backs;
    PublishedFigures& figures;
    FlushTask& flush;
    ColdTask& cold;
    TidyTask& tidy;
  };
  // `listeners` hear of a dropped collection once all works that were queued before the drop are done.
  EncodeTask(const Needs& needs, std::vector<DropListener*> listeners) : needs_(needs), listeners_(std::move(listeners)) {}

  bool step(const Round& round) override;
  bool moves_contents() const override { return false; }
  // The works that are still queued are left. New records are later read from the place where encoding stopped; updates wait for
  // a pass.
  void finish() override;
  WriteBurst::Waiting waiting() const override { return {.count = needs_.queue.size()}; }

  size_t in_hand() const { return in_hand_; }  // These works are taken from the queue but not yet done. Any thread may ask.

 private:
  bool encode_batch();
  void encode(const DedupWork& work);

  const Needs needs_;
  const std::vector<DropListener*> listeners_;
  std::atomic<size_t> in_hand_{0};
};

}  // namespace storage
