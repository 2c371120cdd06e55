#include "versions/database/known_views.h"

#include <algorithm>
#include <vector>

namespace versions {

std::shared_ptr<CollectionView> KnownViews::find(std::string_view ns) const {
  const base::MutexLock lock(mutex_);
  const auto found = views_.find(ns);
  if (found == views_.end() || found->second.view->dropped()) return nullptr;
  found->second.asked = ++questions_;
  return found->second.view;
}

std::shared_ptr<CollectionView> KnownViews::add(const std::string& ns, const std::string& branch,
                                                std::shared_ptr<CollectionView> view, const std::function<bool()>& is_now) {
  const base::MutexLock lock(mutex_);
  if (const auto found = views_.find(ns); found != views_.end() && !found->second.view->dropped()) return found->second.view;
  if (!is_now()) return view;
  if (views_.size() >= max_) make_room();
  views_[ns] = {branch, view, ++questions_};
  return view;
}

void KnownViews::make_room() {
  std::vector<uint64_t> asked;
  for (const auto& [ns, known] : views_) asked.push_back(known.asked);
  const auto middle = asked.begin() + static_cast<ptrdiff_t>(asked.size() / 2);
  std::nth_element(asked.begin(), middle, asked.end());
  std::erase_if(views_, [&](const auto& one) { return one.second.asked < *middle && one.second.view.use_count() == 1; });
  max_ = std::max(at_first_max_, 2 * views_.size());
}

void KnownViews::drop(const std::string& branch) {
  const base::MutexLock lock(mutex_);
  std::erase_if(views_, [&](const auto& one) {
    if (one.second.branch != branch) return false;
    one.second.view->set_dropped();
    return true;
  });
}

void KnownViews::drop(storage::CollectionId collection) {
  const base::MutexLock lock(mutex_);
  std::erase_if(views_, [&](const auto& one) { return one.second.view->id() == collection; });
}

void KnownViews::clear() {
  const base::MutexLock lock(mutex_);
  views_.clear();
}

}  // namespace versions
