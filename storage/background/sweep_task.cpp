#include "storage/background/sweep_task.h"

#include "storage/background/put_off.h"
#include "storage/engine/engine.h"
#include "storage/engine/transaction.h"

namespace storage {

namespace {

constexpr size_t rows_max = 1024;
constexpr int64_t pass_every_us = 60'000'000;

int64_t dead_of(Collection& collection) {
  return collection.records().state().chains.counters().get().dead;
}

}  // namespace

bool SweepTask::step(const Round& round) {
  if (!round.tidying && !round.quiet) return false;
  const auto collections =
      tracked_.where([this](Collection& collection) { return dead_of(collection) > 0 || sweeps_.contains(collection.id()); });
  for (const auto& collection : collections) {
    Sweep& sweep = sweeps_[collection->id()];
    if (!sweep.on && !begin(sweep, dead_of(*collection), round.tidying)) continue;
    const auto store = sources_.store(collection->id());
    if (!store) continue;
    look(sweep, *store);
    return true;
  }
  return false;
}

// The function returns false when no pass is due.
bool SweepTask::begin(Sweep& sweep, int64_t dead, bool now) const {
  const int64_t now_us = engine_.clock().monotonic_us();
  if (dead == 0 || dead == sweep.dead_at_end) return false;
  if (!now && sweep.begun_us != 0 && now_us - sweep.begun_us < pass_every_us) return false;
  sweep = {.dead = {}, .begun_us = now_us, .dead_at_end = sweep.dead_at_end, .spliced = false, .on = true};
  return true;
}

void SweepTask::look(Sweep& sweep, ChainStore& store) {
  DeadSweep::Slice slice;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    slice = sweep.dead.look(store, transaction, rows_max);
  }
  figures_.counts().swept_rows += slice.rows;
  PutOff put_off("splicing");
  for (const auto& one : slice.found) {
    try {
      const bool spliced = in_transaction(
          engine_, [&](Transaction& transaction) { return store.splice_out(transaction, one.dead, one.dependents); });
      figures_.counts().spliced += spliced;
      sweep.spliced |= spliced;
    } catch (const base::OperationError& error) {
      put_off.add(error);
    }
  }
  put_off.report();
  if (sweep.dead.at_end()) {
    sweep.on = false;
    sweep.dead_at_end = sweep.spliced ? -1 : store.counters().get().dead;
    if (sweep.spliced) tidy_.begin_again();
  }
  figures_.publish(false);
}

}  // namespace storage
