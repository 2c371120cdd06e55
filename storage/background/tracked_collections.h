// The registry of the collections that the background works on: those of the catalog at the start, and those that clients have
// written to since. It knows up to which record and which update each of them has been looked at.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "storage/background/dedup_state.h"
#include "storage/collections/collection.h"
#include "storage/contents/record_store_state.h"

namespace storage {

class MissedUpdates;

// This class is thread-safe.
class TrackedCollections {
 public:
  void add(const std::shared_ptr<Collection>& collection);
  // This function adds a collection of which `stored` was saved. It returns up to which record the collection was looked at.
  RecordId add_stored(const std::shared_ptr<Collection>& collection, const std::optional<CollectionState>& stored);
  void remove(CollectionId id);
  void clear();

  bool contains(CollectionId id) const;
  std::shared_ptr<Collection> find(CollectionId id) const;  // This is nullptr for collections that were dropped.
  // This function returns the collections that aren't dropped and for which `wanted(collection)` is true. `wanted` must not call
  // the registry.
  template <class Wanted>
  std::vector<std::shared_ptr<Collection>> where(Wanted wanted) const;

  // A collection is behind when it is read through instead of queued.
  size_t count_behind() const;
  RecordId looked_at(CollectionId id) const;  // Every record up to this one was looked at.
  // The collection was looked at up to this record, but not further than to the records that are still to be read through.
  void encoded(CollectionId id, RecordId record);
  // The collection was read through up to this record. The function returns false when it is not tracked any more.
  bool read_through(CollectionId id, RecordId record);

  struct Place {
    CollectionId id;
    CollectionState state;
  };
  // This function returns what differs from what was saved last. `seen` is the timestamp up to which all updates were looked at,
  // if that is known.
  std::vector<Place> unsaved(std::optional<Stamp> seen, const MissedUpdates& missed);
  void saved(const std::vector<Place>& places);

 private:
  struct Tracked {
    std::shared_ptr<Collection> collection;
    RecordId encoded = 0;  // Every record up to this one was looked at.
    RecordId saved = -1;   // This is the value of `encoded` that is stored.
    Stamp saved_missed = RecordStore::State::none_missed;
    Stamp seen = 0;  // Every update up to this timestamp was looked at, except those known as missed.
    StoreCounts saved_counts;
  };
  Tracked& track(const std::shared_ptr<Collection>& collection) REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  std::unordered_map<CollectionId, Tracked> tracked_ GUARDED_BY(mutex_);
};

template <class Wanted>
std::vector<std::shared_ptr<Collection>> TrackedCollections::where(Wanted wanted) const {
  std::vector<std::shared_ptr<Collection>> collections;
  const base::MutexLock lock(mutex_);
  for (const auto& [id, tracked] : tracked_)
    if (!tracked.collection->dropped() && wanted(*tracked.collection)) collections.push_back(tracked.collection);
  return collections;
}

}  // namespace storage
