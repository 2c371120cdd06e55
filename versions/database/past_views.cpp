#include "versions/database/past_views.h"

#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace versions {

std::shared_ptr<const PastViews::Entries> PastViews::entries(const past::DeclaredSnapshot& snapshot) {
  {
    const base::MutexLock lock(mutex_);
    if (const auto* known = entries_.get(snapshot.number)) return *known;
  }
  auto entries = std::make_shared<Entries>();
  {
    storage::Transaction transaction(past_.store(), storage::Transaction::Mode::read);
    for (auto& [id, entry] : past_.store().catalog().entries_as_of(transaction, snapshot.stamp)) {
      if (storage::is_own(entry.ns)) continue;
      const std::string ns = entry.ns;
      entries->emplace(ns, std::move(entry));
    }
  }
  const base::MutexLock lock(mutex_);
  entries_.put(snapshot.number, entries, 1 + entries->size());
  return entries;
}

std::shared_ptr<storage::Collection> PastViews::open(const past::DeclaredSnapshot& snapshot, std::string_view ns,
                                                     const std::string& home, const FindBranch& find_branch) {
  const std::string name = std::to_string(snapshot.number) + " " + std::string(ns);
  {
    const base::MutexLock lock(mutex_);
    if (const auto* known = views_.get(name); known && !(*known)->dropped()) return *known;
  }
  const BranchThen branch = find_branch ? find_branch() : BranchThen();
  const auto entries = this->entries(snapshot);
  const auto entry = entries->find(home);
  if (entry == entries->end()) return nullptr;
  auto base = past_.store().catalog().stored(entry->second.id);
  if (!base) return nullptr;  // the snapshot was dropped meanwhile
  const bool versioned = branch.shown && !entry->second.options.capped;
  const auto shown = versioned ? branch.shown(entry->second.id) : nullptr;
  if (versioned ? !shown : !branch.own) return nullptr;
  auto view = std::make_shared<past::PastCollection>(past_, std::move(base), entry->second, std::string(ns), snapshot, shown);
  const base::MutexLock lock(mutex_);
  views_.put(name, view, 1);
  return view;
}

std::vector<std::shared_ptr<storage::Collection>> PastViews::collections(const past::DeclaredSnapshot& snapshot,
                                                                         std::string_view db, std::string_view home,
                                                                         const FindBranch& find_branch) {
  std::vector<std::shared_ptr<storage::Collection>> views;
  const BranchThen branch = find_branch ? find_branch() : BranchThen();
  const auto found = [&] { return branch; };
  const std::string prefix = std::string(home) + ".";
  const auto entries = this->entries(snapshot);
  for (auto at = entries->lower_bound(prefix); at != entries->end() && at->first.starts_with(prefix); ++at) {
    auto view = open(snapshot, std::string(db) + "." + std::string(storage::collection_of(at->first)), at->first, found);
    if (view) views.push_back(std::move(view));
  }
  return views;
}

}  // namespace versions
