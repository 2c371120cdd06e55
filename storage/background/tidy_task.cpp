#include "storage/background/tidy_task.h"

#include "storage/background/table_packer.h"
#include "storage/contents/contents.h"
#include "storage/engine/engine.h"

namespace storage {

namespace {
constexpr int64_t tidy_every_us = 2'000'000;
}  // namespace

TidyTask::TidyTask(Contents& contents, const DedupQueue& queue, const Partitions& partitions, const TrackedCollections& tracked,
                   PublishedFigures& figures, const Scheduler& scheduler)
    : contents_(contents), queue_(queue), partitions_(partitions), tracked_(tracked), figures_(figures), scheduler_(scheduler) {}

bool TidyTask::step(const Round& round) {
  if (!round.tidying && !round.quiet) return false;
  const base::Clock& clock = contents_.engine.clock();
  const bool now = round.tidying;
  if (done_ || (!now && clock.monotonic_us() - tidied_us_ < tidy_every_us)) return false;
  const auto collections = tracked_.where([](Collection&) { return true; });
  const base::MutexLock packing(packing_);
  TablePacker packer(contents_, now);
  bool any = false;
  for (const auto& collection : collections) {
    any |= packer.tidy(collection->records().state().chains,
                       [this, now] { return scheduler_.stopping() || (!now && queue_.size() > 0); });
  }
  any |= packer.compact_if_worth(partitions_.metadata().name());
  figures_.counts().packed_records += packer.packed();
  figures_.counts().compactions += packer.compactions();
  tidied_us_ = clock.monotonic_us();
  done_ = !any;
  if (any) figures_.publish(true);
  return any;
}

void TidyTask::tidy(Collection& collection, const std::function<void()>& interrupted) {
  const base::MutexLock packing(packing_);
  TablePacker packer(contents_, true);
  const auto ask = [&] {
    if (interrupted) interrupted();
    return false;
  };
  packer.tidy(collection.records().state().chains, ask);
  packer.compact_if_worth(partitions_.metadata().name());
  if (packer.has_room()) packer.rewrite_if_worth(partitions_.metadata(), ask);
}

}  // namespace storage
