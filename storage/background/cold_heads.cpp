// In quiet times the dedup worker looks at contents that are stored whole: it demotes heads that nobody reads, promotes demoted
// ones that are read again, and encodes updates that found the queue full.
#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "storage/background/dedup_worker_sources.h"
#include "storage/contents/chain_cut.h"
#include "storage/contents/record_store_state.h"

namespace storage {

namespace {

constexpr int64_t second_us = 1'000'000;
constexpr int64_t rest_factor = 9;  // A pass takes at most a tenth of the time.

int64_t now_us() {
  return base::system_clock().monotonic_us();
}

Stamp stamp_before(int64_t secs) {
  const int64_t now = base::system_clock().wall_ms() / 1000;
  return static_cast<Stamp>(std::max<int64_t>(0, now - secs)) << 32;
}

// After a demotion a read goes through two chains instead of one, and more chains may come to depend on the upper one. This
// function returns whether such reads stay short enough.
bool stays_short(const dedup::Backward& advice, const dedup::Options& options) {
  const ChainBounds bounds = bounds_of(options);
  const uint64_t hops = 1 + hops_at_worst(advice.target_placement.ordinal, options.hop_distance) +
                        hops_at_worst(advice.base_placement.ordinal, options.hop_distance);
  return hops <= bounds.hops_max &&
         hops * std::max<size_t>(advice.target_bytes, 1) <= bounds.read_bytes_max / (options.demotion_depth_max + 1);
}

}  // namespace

uint64_t DedupWorker::changes_of(const Collection& collection) const {
  const auto part = partitions_.find(partition_name(collection));
  const uint64_t contents = part == partitions_.end() ? 0 : part->second->encoder->stats().contents;
  return contents + const_cast<Collection&>(collection).records().state().promoted.load();
}

// This function returns the timestamp of the oldest update that was missed; it includes the updates that a current pass has yet
// to reach.
Stamp DedupWorker::missed_from(const Collection& collection) const {
  const Stamp missed = const_cast<Collection&>(collection).records().state().missed_from.load();
  const auto cold = colds_.find(collection.id());
  return cold == colds_.end() ? missed : std::min(missed, cold->second.missed_from);
}

// This function handles the works that are still queued when the worker ends. New records are later read from the place where
// encoding stopped; updates wait for a pass.
void DedupWorker::leave_queued() {
  for (const auto& work : queue_.take(SIZE_MAX, SIZE_MAX)) {
    if (work.kind != DedupWork::Kind::written || !work.previous) continue;
    if (const auto collection = collection_of(work.collection)) collection->records().state().miss(work.generation);
  }
}

// This function does a slice of one collection's pass, and returns false when no pass is due. With `asked_only` it considers only
// collections that somebody waits for.
bool DedupWorker::cold_some(bool asked_only) {
  struct Turn {
    std::shared_ptr<Collection> collection;
    uint64_t asked;
  };
  std::vector<Turn> turns;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [id, tracked] : tracked_) {
      const auto asked = asked_.find(id);
      if (asked != asked_.end())
        turns.push_back({tracked.collection, asked->second});
      else if (!asked_only && concerned(*tracked.collection))
        turns.push_back({tracked.collection, 0});
    }
  }
  for (const auto& turn : turns) {
    if (begin_pass(*turn.collection, turn.asked) && cold_slice(*turn.collection)) return true;
    if (turn.asked) answer(turn.collection->id(), turn.asked);
  }
  return false;
}

// This function returns whether a pass has, or may have, something to do. It runs for every collection, however idle the server
// is, so it must be cheap.
bool DedupWorker::concerned(Collection& collection) {
  if (!wanted(collection)) return false;
  RecordStore::State& state = collection.records().state();
  if (state.missed_from.load() != RecordStore::State::none_missed && !state.behind()) return true;
  if (state.reads.wanted() || demotes(collection)) return true;
  const auto cold = colds_.find(collection.id());
  return cold != colds_.end() && cold->second.on;
}

bool DedupWorker::demotes(const Collection& collection) const {
  if (options_in_force_.demote_after_secs == 0) return false;
  return options_of(profile_of(collection), options_in_force_).demotion_depth_max > 0;
}

// The function returns true when a pass is running, or is due and has begun.
bool DedupWorker::begin_pass(Collection& collection, uint64_t asked) {
  if (!wanted(collection)) return false;
  auto& state = collection.records().state();
  const uint32_t after_secs = demotes(collection) ? options_in_force_.demote_after_secs : 0;
  const int64_t now = now_us(), after_us = after_secs * second_us;
  if (after_secs) {
    state.reads.turn(now, after_secs, collection.stored_records());
  } else {
    state.reads.stop();
  }
  Cold& cold = colds_[collection.id()];
  if (cold.on && asked <= cold.asked) return true;
  const auto nothing_new = [&] { return cold.ended_us != 0 && cold.warm == 0 && cold.changes == changes_of(collection); };
  const bool due = after_secs &&
                   (asked || (state.reads.marked_for_us(now) >= after_us &&
                              now - cold.ended_us >= std::max(after_us, rest_factor * (cold.ended_us - cold.begun_us)))) &&
                   !nothing_new();
  const bool missed = state.missed_from.load() != RecordStore::State::none_missed && !state.behind();
  if (!missed && !due) return false;
  const Stamp unfinished = cold.on ? cold.missed_from : RecordStore::State::none_missed;
  cold = {.pass = {},
          .on = true,
          .asked = asked,
          .cold = due,
          .missed_from = unfinished,
          .begun_us = now,
          .ended_us = 0,
          .warm = 0,
          .changes = 0};
  if (missed) {
    cold.missed_from = std::min(cold.missed_from, state.missed_from.exchange(RecordStore::State::none_missed));
    partition(collection).encoder->distrust_cache();
  }
  return true;
}

bool DedupWorker::cold_slice(Collection& collection) {
  const CollectionId id = collection.id();
  Cold& cold = colds_[id];
  if (!store_of(id)) return false;
  const ColdPass::Wanted wanted{.cold = cold.cold && demotes(collection),
                                .written_before = cold.asked ? UINT64_MAX : stamp_before(options_in_force_.demote_after_secs),
                                .bytes_min = partition(collection).encoder->options().content_bytes_min,
                                .missed_from = cold.missed_from};
  std::vector<ColdPass::Found> found;
  {
    Transaction transaction(engine_, Transaction::Mode::read);
    found = cold.pass.look(collection.records(), transaction, wanted);
  }
  Sources sources(*this);
  for (const auto& one : found) {
    if (one.missed) {
      ++own_.caught_up;
      encode_content(collection, {id, one.name.record, one.name.generation}, 0, false, one.content, sources);
    } else {
      demote(collection, one, sources);
    }
  }
  if (cold.pass.at_end()) {
    cold.on = false;
    cold.missed_from = RecordStore::State::none_missed;
    cold.ended_us = now_us();
    cold.warm = cold.pass.warm();
    cold.changes = changes_of(collection);
    if (cold.asked) {
      save(true);  // The client that asked wants to see the result.
      answer(id, cold.asked);
    }
  }
  if (!found.empty()) publish(false);
  return true;
}

void DedupWorker::demote(Collection& collection, const ColdPass::Found& head, Sources& sources) {
  Partition& part = partition(collection);
  const dedup::Options& options = part.encoder->options();
  const auto lineage = lineage_of(collection.options().dedup, bson::DocumentView(head.content));
  if (lineage != dedup::no_lineage && !options.demote_lineages) return;
  const dedup::ContentId id{collection.id(), head.name.record, head.name.generation};
  const auto advice = part.encoder->demote(id, head.content, head.placement, sources, lineage);
  if (!advice) return;
  part.dirty = true;
  const uint64_t written = own_.write_back.written;
  if (stays_short(*advice, options))
    flush_write_backs(
        engine_, {*advice}, [this](CollectionId one) { return store_of(one); }, own_.write_back);
  if (own_.write_back.written == written) return part.encoder->promote(id);  // A later pass tries again.
  ++collection.records().state().demoted;
  tidy_done_ = false;
}

// This function promotes heads that were read after they had been demoted.
bool DedupWorker::promote_some() {
  const auto collections =
      collections_where([](Collection& collection) { return collection.records().state().demoted_reads.any(); });
  bool any = false;
  for (const auto& collection : collections) {
    auto& state = collection->records().state();
    for (const RecordId record : state.demoted_reads.take()) {
      const auto store = store_of(collection->id());
      if (!store) break;
      Partition& part = partition(*collection);
      std::optional<dedup::ContentId> id;
      {
        Transaction transaction(engine_, Transaction::Mode::read);
        if (const auto place = find_sound_row(store->tables(), transaction, record))
          id = {collection->id(), record, place->row.generation};
      }
      if (!id) continue;
      const auto placement = part.encoder->placement(*id);
      const auto ordinal = placement ? std::optional(placement->ordinal) : std::nullopt;
      try {
        if (!in_transaction(engine_, [&](Transaction& transaction) { return store->promote(transaction, record, ordinal); }))
          continue;
      } catch (const base::OperationError& error) {
        if (error.code() != base::ErrorCode::data_corruption_detected) throw;  // The reader got the error.
        continue;
      }
      part.encoder->promote(*id);
      part.dirty = true;
      ++state.promoted;
      any = true;
    }
  }
  if (any) publish(false);
  return any;
}

// A client's thread calls this function, which waits until the worker has gone through the collection.
void DedupWorker::demote_now(Collection& collection, const std::function<void()>& interrupted) {
  const CollectionId id = collection.id();
  std::unique_lock lock(mutex_);
  if (!thread_.joinable() || stopping_ || !tracked_.contains(id)) return;
  const uint64_t number = asked_[id] = ++questions_;
  wake_.notify_all();
  while (!stopping_ && tracked_.contains(id) && answered_[id] < number) {
    drained_.wait_for(lock, std::chrono::milliseconds(100));
    lock.unlock();
    if (interrupted) interrupted();
    lock.lock();
  }
}

void DedupWorker::answer(CollectionId collection, uint64_t number) {
  std::lock_guard lock(mutex_);
  answered_[collection] = number;
  if (const auto asked = asked_.find(collection); asked != asked_.end() && asked->second <= number) asked_.erase(asked);
  drained_.notify_all();
}

}  // namespace storage
