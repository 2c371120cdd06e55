// KnownViews holds the views of branches that were asked for before, by their names: each is made once while it is in use.
//
// If there are too many, it forgets the half that was asked for longest ago, except those that somebody holds: a reader of such a
// view must learn that its branch was dropped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "versions/database/collection_view.h"

namespace versions {

// This class is thread-safe.
class KnownViews {
 public:
  // From `max` views on there are too many, unless more than that are held.
  explicit KnownViews(size_t max = 10'000) : at_first_max_(max), max_(max) {}

  // nullptr: the view isn't known, or its branch is gone.
  std::shared_ptr<CollectionView> find(std::string_view ns) const;
  // Remembers the view if `is_now` then says that its branch exists, and returns it. If another view of that name is known
  // already, it returns that one.
  std::shared_ptr<CollectionView> add(const std::string& ns, const std::string& branch, std::shared_ptr<CollectionView> view,
                                      const std::function<bool()>& is_now);
  // The branch is gone, and so are its views.
  void drop(const std::string& branch);
  // The collection is gone from all branches. Its views know that by themselves.
  void drop(storage::CollectionId collection);
  void clear();

 private:
  struct Known {
    std::string branch;
    std::shared_ptr<CollectionView> view;
    mutable uint64_t asked = 0;  // the count of questions when somebody last asked for it
  };

  void make_room() REQUIRES(mutex_);

  const size_t at_first_max_;
  mutable base::Mutex mutex_;
  mutable uint64_t questions_ GUARDED_BY(mutex_) = 0;
  size_t max_ GUARDED_BY(mutex_);
  std::map<std::string, Known, std::less<>> views_ GUARDED_BY(mutex_);
};

}  // namespace versions
