#include "storage/background/tracked_collections.h"

#include <algorithm>

#include "storage/background/missed_updates.h"

namespace storage {

TrackedCollections::Tracked& TrackedCollections::track(const std::shared_ptr<Collection>& collection) {
  Tracked& tracked = tracked_[collection->id()];
  if (!tracked.collection) tracked.collection = collection;
  return tracked;
}

void TrackedCollections::add(const std::shared_ptr<Collection>& collection) {
  auto& state = collection->records().state();
  if (state.tracked.load(std::memory_order_acquire)) return;
  const base::MutexLock lock(mutex_);
  track(collection);
  state.tracked.store(true, std::memory_order_release);
}

RecordId TrackedCollections::add_stored(const std::shared_ptr<Collection>& collection,
                                        const std::optional<CollectionState>& stored) {
  const base::MutexLock lock(mutex_);
  Tracked& tracked = track(collection);
  tracked.encoded = tracked.saved = stored ? stored->encoded : 0;
  if (stored) {
    tracked.seen = stored->seen;
    tracked.saved_missed = stored->missed_from;
  }
  return tracked.encoded;
}

void TrackedCollections::remove(CollectionId id) {
  const base::MutexLock lock(mutex_);
  tracked_.erase(id);
}

void TrackedCollections::clear() {
  const base::MutexLock lock(mutex_);
  tracked_.clear();
}

bool TrackedCollections::contains(CollectionId id) const {
  const base::MutexLock lock(mutex_);
  return tracked_.contains(id);
}

std::shared_ptr<Collection> TrackedCollections::find(CollectionId id) const {
  const base::MutexLock lock(mutex_);
  const auto found = tracked_.find(id);
  return found == tracked_.end() || found->second.collection->dropped() ? nullptr : found->second.collection;
}

size_t TrackedCollections::count_behind() const {
  const base::MutexLock lock(mutex_);
  size_t behind = 0;
  for (const auto& [id, tracked] : tracked_) behind += tracked.collection->records().state().behind();
  return behind;
}

RecordId TrackedCollections::looked_at(CollectionId id) const {
  const base::MutexLock lock(mutex_);
  const auto found = tracked_.find(id);
  return found == tracked_.end() ? 0 : found->second.encoded;
}

void TrackedCollections::encoded(CollectionId id, RecordId record) {
  const base::MutexLock lock(mutex_);
  const auto found = tracked_.find(id);
  if (found == tracked_.end()) return;
  const RecordId up_to = found->second.collection->records().state().behind_from.load(std::memory_order_relaxed) - 1;
  found->second.encoded = std::max(found->second.encoded, std::min(record, up_to));
}

bool TrackedCollections::read_through(CollectionId id, RecordId record) {
  const base::MutexLock lock(mutex_);
  const auto found = tracked_.find(id);
  if (found == tracked_.end()) return false;
  found->second.encoded = std::max(found->second.encoded, record);
  return true;
}

std::vector<TrackedCollections::Place> TrackedCollections::unsaved(std::optional<Stamp> seen, const MissedUpdates& missed) {
  std::vector<Place> places;
  const base::MutexLock lock(mutex_);
  for (auto& [id, tracked] : tracked_) {
    if (tracked.collection->dropped()) continue;
    const StoreCounts counts = tracked.collection->records().state().chains.counters().get();
    const Stamp missed_from = missed.from(*tracked.collection);
    if (tracked.encoded == tracked.saved && counts == tracked.saved_counts && missed_from == tracked.saved_missed) continue;
    if (seen) tracked.seen = *seen;
    places.push_back({id, {tracked.encoded, missed_from, tracked.seen, counts}});
  }
  return places;
}

void TrackedCollections::saved(const std::vector<Place>& places) {
  const base::MutexLock lock(mutex_);
  for (const auto& place : places) {
    const auto found = tracked_.find(place.id);
    if (found == tracked_.end()) continue;
    found->second.saved = place.state.encoded;
    found->second.saved_missed = place.state.missed_from;
    found->second.saved_counts = place.state.counts;
  }
}

}  // namespace storage
