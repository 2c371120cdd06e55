// A missed update found the queue full, or came while dedup was off: a pass over all records of the collection looks for its
// content (cold_task.h). A collection's state holds the timestamp of the oldest missed update (RecordStore::State::miss). The
// pass takes that timestamp over when it begins, and this class keeps it until the pass has reached the end, so that a restart
// in between looks for the same updates again.
#pragma once

#include <unordered_map>

#include "storage/collections/collection.h"

namespace storage {

// Only the scheduler's thread uses an object.
class MissedUpdates {
 public:
  // This function returns whether updates were missed that no pass looks for yet.
  static bool any(Collection& collection);
  // This is the timestamp of the oldest missed update, including those that a pass has yet to reach.
  Stamp from(Collection& collection) const;
  // A pass looks for the missed updates since this timestamp; RecordStore::State::none_missed when it looks for none.
  Stamp in_pass(CollectionId collection) const;

  void begin_pass(Collection& collection);  // The pass also looks for the updates that an unfinished pass hadn't reached.
  void end_pass(CollectionId collection) { in_pass_.erase(collection); }

 private:
  std::unordered_map<CollectionId, Stamp> in_pass_;
};

}  // namespace storage
