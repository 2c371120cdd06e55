#include "server/core/collection_usage.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/spin_lock.h"
#include "storage/collections/catalog.h"

namespace server {

uint32_t collection_named(const storage::Catalog& catalog, std::string_view ns) {
  try {
    const auto collection = catalog.find(ns);
    return collection ? collection->id() : 0;
  } catch (const base::OperationError&) {
    return 0;
  }
}

CollectionUsage::Name CollectionUsage::split(std::string_view ns) {
  const size_t dot = ns.find('.');
  return dot == ns.npos ? Name{ns, {}} : Name{ns.substr(0, dot), ns.substr(dot + 1)};
}

size_t CollectionUsage::Hash::operator()(const Name& name) const {
  return base::hash64(name.collection, base::hash64(name.db));
}

bool CollectionUsage::Equal::operator()(const Name& a, std::string_view b) const {
  return b.size() == a.db.size() + 1 + a.collection.size() && b.starts_with(a.db) && b.ends_with(a.collection);
}

bool CollectionUsage::record(std::string_view db, std::string_view name, uint32_t collection, const Use& use) {
  const Name key{db, name};
  Shard& shard = shard_of(key);
  const base::SpinLock lock(shard.mutex);
  auto found = shard.entries.find(key);
  if (found == shard.entries.end()) {
    found = shard.entries.emplace(std::string(db) + "." + std::string(name), std::make_unique<Entry>()).first;
  }
  Entry& entry = *found->second;
  if (entry.collection != collection) {
    entry.figures = {};
    entry.collection = collection;
  }
  Timing& timing = entry.figures.by_kind[static_cast<size_t>(use.kind)];
  timing.us += use.us;
  ++timing.count;
  entry.figures.by_latency[static_cast<size_t>(use.latency)].record(use.us);
  entry.figures.scans.total += use.scan ? 1 : 0;
  entry.figures.scans.non_tailable += use.scan && !use.tailable ? 1 : 0;
  return shard.entries.size() > shard.names_max;
}

std::optional<CollectionUsage::Figures> CollectionUsage::of(std::string_view db, std::string_view name,
                                                            uint32_t collection) const {
  const Name key{db, name};
  const Shard& shard = shard_of(key);
  const base::SpinLock lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end() || found->second->collection != collection) return std::nullopt;
  return found->second->figures;
}

// The catalog is asked while no lock is held, because it has locks of its own.
std::vector<std::pair<std::string, CollectionUsage::Figures>> CollectionUsage::all(const Lookup& now) const {
  struct Found {
    std::string ns;
    uint32_t collection;
    Figures figures;
  };
  std::vector<Found> found;
  for (const Shard& shard : shards_) {
    const base::MutexLock lock(shard.mutex);
    for (const auto& [ns, entry] : shard.entries) found.push_back({ns, entry->collection, entry->figures});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.ns < b.ns; });
  std::vector<std::pair<std::string, Figures>> all;
  for (Found& one : found) {
    if (now(one.ns) == one.collection) all.emplace_back(std::move(one.ns), std::move(one.figures));
  }
  return all;
}

void CollectionUsage::forget(const Lookup& now) {
  for (Shard& shard : shards_) {
    std::vector<std::pair<std::string, uint32_t>> names;
    {
      const base::MutexLock lock(shard.mutex);
      for (const auto& [ns, entry] : shard.entries) names.emplace_back(ns, entry->collection);
    }
    std::erase_if(names, [&](const auto& name) { return now(name.first) == name.second; });
    const base::MutexLock lock(shard.mutex);
    for (const auto& [ns, collection] : names) {
      const auto found = shard.entries.find(std::string_view(ns));
      if (found != shard.entries.end() && found->second->collection == collection) shard.entries.erase(found);
    }
    shard.names_max = std::max(names_few, shard.entries.size() * 2);
  }
}

}  // namespace server
