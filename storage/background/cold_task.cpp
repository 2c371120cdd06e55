#include "storage/background/cold_task.h"

#include <algorithm>

#include "storage/contents/record_store_state.h"
#include "storage/engine/engine.h"
#include "storage/engine/internals.h"
#include "storage/engine/transaction.h"

namespace storage {

namespace {

constexpr int64_t second_us = 1'000'000;
constexpr int64_t rest_factor = 9;  // A pass takes at most a tenth of the time.

Stamp stamp_before(const base::Clock& clock, int64_t secs) {
  return static_cast<Stamp>(std::max<int64_t>(0, clock.wall_ms() / 1000 - secs)) << 32;
}

}  // namespace

bool ColdTask::step(const Round& round) {
  const bool all = round.tidying || round.quiet;
  return (all || awaited()) && some(!all);
}

void ColdTask::answer_some() {
  if (!awaited()) return;
  if (const auto alone = needs_.engine.internals().drafts.try_alone(false)) some(true);
}

void ColdTask::forget(CollectionId collection) {
  colds_.erase(collection);
  needs_.missed.end_pass(collection);
  needs_.questions.forget(collection);
}

// This function does a slice of one collection's pass, and returns false when no pass is due. With `asked_only` it considers only
// collections that somebody waits for.
bool ColdTask::some(bool asked_only) {
  needs_.questions.forget_untracked();
  const auto collections = needs_.tracked.where(
      [&](Collection& collection) { return needs_.questions.latest(collection.id()) || (!asked_only && concerned(collection)); });
  for (const auto& collection : collections) {
    const uint64_t asked = needs_.questions.latest(collection->id()).value_or(0);
    if (begin(*collection, asked) && slice(*collection)) return true;
    if (asked) needs_.questions.answer(collection->id(), asked);
  }
  return false;
}

// This function returns whether a pass has, or may have, something to do. It runs for every collection, however idle the server
// is, so it must be cheap.
bool ColdTask::concerned(Collection& collection) const {
  if (!needs_.options.wanted(collection)) return false;
  if (has_missed(collection) || collection.records().state().reads.wanted() || demotes(collection)) return true;
  const auto cold = colds_.find(collection.id());
  return cold != colds_.end() && cold->second.on;
}

bool ColdTask::demotes(const Collection& collection) const {
  const LiveOptions& options = needs_.options;
  if (options.in_force().demote_after_secs == 0) return false;
  return options.of(options.profile_of(collection), options.in_force()).demotion_depth_max > 0;
}

// Records that are read through come first: a pass would meet them too.
bool ColdTask::has_missed(Collection& collection) const {
  return MissedUpdates::any(collection) && !collection.records().state().behind();
}

// The function returns true when a pass is running, or is due and has begun.
bool ColdTask::begin(Collection& collection, uint64_t asked) {
  if (!needs_.options.wanted(collection)) return false;
  const int64_t now_us = needs_.engine.clock().monotonic_us();
  const uint32_t after_secs = demotes(collection) ? needs_.options.in_force().demote_after_secs : 0;
  auto& reads = collection.records().state().reads;
  if (after_secs) {
    reads.turn(now_us, after_secs, collection.stored_records());
  } else {
    reads.stop();
  }
  Cold& cold = colds_[collection.id()];
  if (cold.on && asked <= cold.asked) return true;
  const bool is_due = due(cold, collection, asked, after_secs);
  const bool missed = has_missed(collection);
  if (!missed && !is_due) return false;
  cold = {.pass = {}, .on = true, .asked = asked, .cold = is_due, .begun_us = now_us};
  if (missed) {
    needs_.missed.begin_pass(collection);
    needs_.partitions.of(collection).encoder->distrust_cache();
  }
  return true;
}

// The function returns true when cold heads should be looked for now.
bool ColdTask::due(const Cold& cold, Collection& collection, uint64_t asked, uint32_t after_secs) const {
  if (!after_secs) return false;
  const bool nothing_new = cold.ended_us != 0 && cold.warm == 0 && cold.changes == changes_of(collection) &&
                           cold.option_changes == needs_.options.changes();
  if (nothing_new) return false;
  if (asked) return true;
  const int64_t now_us = needs_.engine.clock().monotonic_us(), after_us = after_secs * second_us;
  return collection.records().state().reads.marked_for_us(now_us) >= after_us &&
         now_us - cold.ended_us >= std::max(after_us, rest_factor * (cold.ended_us - cold.begun_us));
}

bool ColdTask::slice(Collection& collection) {
  const CollectionId id = collection.id();
  Cold& cold = colds_[id];
  if (!needs_.sources.store(id)) return false;
  const ColdPass::Wanted wanted{
      .cold = cold.cold && demotes(collection),
      .written_before =
          cold.asked ? UINT64_MAX : stamp_before(needs_.engine.clock(), needs_.options.in_force().demote_after_secs),
      .bytes_min = needs_.partitions.of(collection).encoder->options().content_bytes_min,
      .missed_from = needs_.missed.in_pass(id)};
  std::vector<ColdPass::Found> found;
  {
    Transaction transaction(needs_.engine, Transaction::Mode::read);
    found = cold.pass.look(collection.records(), transaction, wanted);
  }
  for (const auto& one : found) {
    if (one.missed) {
      ++needs_.figures.counts().caught_up;
      needs_.encoder.encode(collection, {id, one.name.record, one.name.generation}, 0, false, one.content);
    } else {
      needs_.demoter.demote(collection, one);
    }
  }
  if (cold.pass.at_end()) end(cold, collection);
  if (!found.empty()) needs_.figures.publish(false);
  return true;
}

void ColdTask::end(Cold& cold, Collection& collection) {
  needs_.missed.end_pass(collection.id());
  cold.on = false;
  cold.ended_us = needs_.engine.clock().monotonic_us();
  cold.warm = cold.pass.warm();
  cold.changes = changes_of(collection);
  cold.option_changes = needs_.options.changes();
  if (!cold.asked) return;
  needs_.save.save(true);  // The client that asked wants to see the result.
  needs_.questions.answer(collection.id(), cold.asked);
}

uint64_t ColdTask::changes_of(Collection& collection) const {
  const Partition* part = needs_.partitions.find(collection);
  return (part ? part->encoder->stats().contents : 0) + collection.records().state().promoted.load();
}

}  // namespace storage
