// A client asks that the cold heads of a collection be demoted now, and waits for it (compact). The cold task answers.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "storage/background/scheduler.h"
#include "storage/background/tracked_collections.h"

namespace storage {

// This class is thread-safe.
class ColdQuestions {
 public:
  ColdQuestions(Scheduler& scheduler, const TrackedCollections& tracked) : scheduler_(scheduler), tracked_(tracked) {}

  // A client's thread calls this function, which waits until a pass that began after the call has gone through the collection.
  // It returns early when the collection is dropped, the scheduler stops or the disk is nearly full. It calls `interrupted` now
  // and then, which may throw.
  void ask(CollectionId collection, const std::function<void()>& interrupted);

  bool any() const;
  std::optional<uint64_t> latest(CollectionId collection) const;  // This is the number of the collection's latest question.
  void answer(CollectionId collection, uint64_t number);          // All questions up to this number are answered.
  void forget(CollectionId collection);
  void forget_untracked();

 private:
  Scheduler& scheduler_;
  const TrackedCollections& tracked_;
  mutable base::Mutex mutex_;
  base::Condition answered_some_;
  uint64_t questions_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<CollectionId, uint64_t> asked_ GUARDED_BY(mutex_), answered_ GUARDED_BY(mutex_);  // the latest of each
};

}  // namespace storage
