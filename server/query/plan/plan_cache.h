// The plan cache remembers, for each form of query, which of several plans won when they were tried against each other.
//
//   first query of a form     plans race; the winner is remembered, but not yet used   (inactive, works: 40)
//   one that needs no more    plans race again; the winner is used from now on          (active, works: 35)
//   from then on              no race, as long as a query's first results come within ten times those works
//
// A plan that needs more loses its place: the plans race anew. So one query with unusual values decides nothing for the others.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "bson/collator.h"
#include "bson/document.h"

namespace server::query {

// A race found this out.
struct CachedPlan {
  std::string plan;   // the winner, as plan_name (plan_name.h) writes it
  int64_t works = 0;  // what it needed in the race, or a later race may need for the plan to become active
  bool active = false;
  bool index_filter = false;  // the race was among the indexes that a filter allows
  int64_t created_ms = 0;     // since 1970

  // The query, and what the race showed; for $planCacheStats alone.
  bson::Document filter, sort, projection;
  bson::CollatorPtr collator;
  bson::Document stages;             // the winner's
  std::vector<bson::Document> runs;  // of all plans, the winner first
  std::vector<double> scores;

  size_t bytes() const;
};

struct PlanCacheKey {
  uint32_t collection = 0;  // its id
  std::string shape;        // as query_shape() writes it

  auto operator<=>(const PlanCacheKey&) const = default;
};

// Thread-safe. It holds up to `bytes_max`; plans that weren't used for longest go first.
class PlanCache {
 public:
  static constexpr size_t bytes_max = size_t{16} << 20;

  struct Entry {
    PlanCacheKey key;
    std::string indexes;
    std::shared_ptr<const CachedPlan> plan;
  };

  // `indexes`: names those that exist (index_fingerprint). A plan that was made among others is forgotten. Returns nullptr if
  // there is none.
  std::shared_ptr<const CachedPlan> find(const PlanCacheKey& key, const std::string& indexes);
  // A race is over. Decides whether its winner replaces what is known, and becomes active.
  void add_race(const PlanCacheKey& key, const std::string& indexes, CachedPlan winner);
  // The plan needed far more than it did in the race.
  void deactivate(const PlanCacheKey& key);

  void clear(uint32_t collection);
  void clear(const PlanCacheKey& key);
  // Returns a collection's plans that were made among these indexes, in the order of their shapes.
  std::vector<Entry> list(uint32_t collection, const std::string& indexes) const;
  size_t bytes() const;

 private:
  using Entries = std::list<Entry>;  // the last used is in front

  void put(const PlanCacheKey& key, const std::string& indexes, CachedPlan plan) REQUIRES(mutex_);
  void remove(Entries::iterator entry) REQUIRES(mutex_);

  mutable base::Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);
  std::map<PlanCacheKey, Entries::iterator> by_key_ GUARDED_BY(mutex_);
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Returns about how many bytes the cache holds for an entry.
size_t entry_bytes(const PlanCache::Entry& entry);

}  // namespace server::query
