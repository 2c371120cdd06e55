#include "storage/background/cold_questions.h"

#include <vector>

namespace storage {

void ColdQuestions::ask(CollectionId collection, const std::function<void()>& interrupted) {
  if (!scheduler_.running() || !tracked_.contains(collection)) return;
  uint64_t number = 0;
  {
    const base::MutexLock lock(mutex_);
    number = asked_[collection] = ++questions_;
  }
  scheduler_.call();
  while (scheduler_.running() && scheduler_.has_room() && tracked_.contains(collection)) {
    {
      base::MutexLock lock(mutex_);
      if (answered_[collection] >= number) return;
      answered_some_.wait_for(lock, std::chrono::milliseconds(100));
    }
    if (interrupted) interrupted();
  }
}

bool ColdQuestions::any() const {
  const base::MutexLock lock(mutex_);
  return !asked_.empty();
}

std::optional<uint64_t> ColdQuestions::latest(CollectionId collection) const {
  const base::MutexLock lock(mutex_);
  const auto found = asked_.find(collection);
  return found == asked_.end() ? std::nullopt : std::optional(found->second);
}

void ColdQuestions::answer(CollectionId collection, uint64_t number) {
  const base::MutexLock lock(mutex_);
  answered_[collection] = number;
  if (const auto asked = asked_.find(collection); asked != asked_.end() && asked->second <= number) asked_.erase(asked);
  answered_some_.notify_all();
}

void ColdQuestions::forget(CollectionId collection) {
  const base::MutexLock lock(mutex_);
  asked_.erase(collection);
  answered_.erase(collection);
  answered_some_.notify_all();
}

// A question that came while its collection was being dropped would stay for ever.
void ColdQuestions::forget_untracked() {
  std::vector<CollectionId> asked;
  {
    const base::MutexLock lock(mutex_);
    for (const auto& [collection, number] : asked_) asked.push_back(collection);
  }
  for (const CollectionId collection : asked)
    if (!tracked_.contains(collection)) forget(collection);
}

}  // namespace storage
