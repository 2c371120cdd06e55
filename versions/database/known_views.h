// Views of branches that were asked for before, by their names: each is made once while it is in use.
//
// Where there are too many the half is forgotten that was asked for longest ago, but for those that somebody holds: who reads
// through one must learn that its branch was dropped.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "versions/database/collection_view.h"

namespace versions {

// Thread-safe.
class KnownViews {
 public:
  // `max`: from so many on there are too many, where not more of them are held.
  explicit KnownViews(size_t max = 10'000) : at_first_max_(max), max_(max) {}

  // nullptr: none, or one whose branch is gone.
  std::shared_ptr<CollectionView> find(std::string_view ns) const;
  // Remembers the view, if `is_now` then says that its branch is there, and returns it; the one that is known already, where
  // there is one.
  std::shared_ptr<CollectionView> add(const std::string& ns, const std::string& branch, std::shared_ptr<CollectionView> view,
                                      const std::function<bool()>& is_now);
  // The branch is gone, and so are its views.
  void drop(const std::string& branch);
  // So is the collection, of all branches. Views say so by themselves.
  void drop(storage::CollectionId collection);
  void clear();

 private:
  struct Known {
    std::string branch;
    std::shared_ptr<CollectionView> view;
    mutable uint64_t asked = 0;  // when it last was, in questions
  };

  void make_room();

  mutable std::mutex mutex_;
  mutable uint64_t questions_ = 0;
  const size_t at_first_max_;
  size_t max_;
  std::map<std::string, Known, std::less<>> views_;
};

}  // namespace versions
