#include "server/query/plan/plan_cache.h"

#include <algorithm>

namespace server::query {

namespace {

constexpr int64_t growth = 2;

// Returns what is known of the form after a race whose winner is `next`; nullopt: it stays as it is.
std::optional<CachedPlan> after_race(const CachedPlan* known, CachedPlan next) {
  if (!known) return next;
  next.active = true;
  if (next.works <= known->works) return next;
  if (known->active) return std::nullopt;
  // The first race may have met values for which there was little to do. Each further one may need twice as much.
  CachedPlan patient = *known;
  patient.works = known->works > INT64_MAX / growth ? INT64_MAX : std::max(known->works + 1, known->works * growth);
  return patient;
}

}  // namespace

size_t entry_bytes(const PlanCache::Entry& entry) {
  // The key lies in the list and in the map.
  return sizeof(PlanCache::Entry) + 2 * (sizeof(PlanCacheKey) + entry.key.shape.size()) + entry.indexes.size() +
         entry.plan->bytes();
}

size_t CachedPlan::bytes() const {
  size_t bytes = sizeof(CachedPlan) + plan.size() + filter.size() + sort.size() + projection.size() + stages.size();
  for (const bson::Document& run : runs) bytes += sizeof(bson::Document) + run.size();
  return bytes + scores.size() * sizeof(double);
}

void PlanCache::remove(Entries::iterator entry) {
  bytes_ -= entry_bytes(*entry);
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void PlanCache::put(const PlanCacheKey& key, const std::string& indexes, CachedPlan plan) {
  if (const auto known = by_key_.find(key); known != by_key_.end()) remove(known->second);
  Entry entry{key, indexes, std::make_shared<const CachedPlan>(std::move(plan))};
  const size_t bytes = entry_bytes(entry);
  if (bytes > bytes_max / 16) return;  // one query must not push out all others
  while (!entries_.empty() && bytes_ + bytes > bytes_max) remove(std::prev(entries_.end()));
  entries_.push_front(std::move(entry));
  by_key_.emplace(key, entries_.begin());
  bytes_ += bytes;
}

std::shared_ptr<const CachedPlan> PlanCache::find(const PlanCacheKey& key, const std::string& indexes) {
  const base::MutexLock lock(mutex_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end()) return nullptr;
  if (known->second->indexes != indexes) {
    remove(known->second);
    return nullptr;
  }
  entries_.splice(entries_.begin(), entries_, known->second);
  return known->second->plan;
}

void PlanCache::add_race(const PlanCacheKey& key, const std::string& indexes, CachedPlan winner) {
  const base::MutexLock lock(mutex_);
  const auto entry = by_key_.find(key);
  const bool known = entry != by_key_.end() && entry->second->indexes == indexes;
  auto next = after_race(known ? entry->second->plan.get() : nullptr, std::move(winner));
  if (next) put(key, indexes, *std::move(next));
}

void PlanCache::deactivate(const PlanCacheKey& key) {
  const base::MutexLock lock(mutex_);
  const auto known = by_key_.find(key);
  if (known == by_key_.end() || !known->second->plan->active) return;
  CachedPlan plan = *known->second->plan;
  plan.active = false;
  put(key, std::string(known->second->indexes), std::move(plan));
}

void PlanCache::clear(uint32_t collection) {
  const base::MutexLock lock(mutex_);
  for (auto entry = by_key_.lower_bound({collection, {}}); entry != by_key_.end() && entry->first.collection == collection;) {
    remove((entry++)->second);
  }
}

void PlanCache::clear(const PlanCacheKey& key) {
  const base::MutexLock lock(mutex_);
  if (const auto known = by_key_.find(key); known != by_key_.end()) remove(known->second);
}

std::vector<PlanCache::Entry> PlanCache::list(uint32_t collection, const std::string& indexes) const {
  const base::MutexLock lock(mutex_);
  std::vector<Entry> found;
  for (auto entry = by_key_.lower_bound({collection, {}}); entry != by_key_.end() && entry->first.collection == collection;
       ++entry) {
    if (entry->second->indexes == indexes) found.push_back(*entry->second);
  }
  return found;
}

size_t PlanCache::bytes() const {
  const base::MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace server::query
