// This opens databases as declared snapshots show them: their collections, under the names that these had then.
#pragma once

#include <functional>
#include <map>

#include "base/lru.h"
#include "base/mutex.h"
#include "versions/past/past_collection.h"

namespace versions {

// This class is thread-safe.
class PastViews {
 public:
  explicit PastViews(past::Past& past) : past_(past) {}

  past::Past& past() const { return past_; }

  // Finds a snapshot by the part of a database's name behind its `@`, as past::Snapshots::find does.
  std::optional<past::DeclaredSnapshot> find(std::string_view ref) const { return past_.snapshots().find(ref); }
  struct BranchThen {
    // The records of a collection that the branch showed; nullptr: it didn't have it. An empty function: the database had no
    // branches.
    std::function<std::shared_ptr<past::ShownRecords>(storage::CollectionId)> shown = {};
    bool own = true;  // whether it is what the database's own name stood for: that has the collections without versions, too
  };
  // Called if the branch isn't known yet.
  using FindBranch = std::function<BranchThen()>;
  // `ns` is the name that the caller uses, `home` the collection's name then. nullptr: there was no such collection. Must not be
  // called inside a transaction.
  std::shared_ptr<storage::Collection> open(const past::DeclaredSnapshot& snapshot, std::string_view ns, const std::string& home,
                                            const FindBranch& find_branch = nullptr);
  // The collections of the database `home`, by name.
  std::vector<std::shared_ptr<storage::Collection>> collections(const past::DeclaredSnapshot& snapshot, std::string_view db,
                                                                std::string_view home, const FindBranch& find_branch = nullptr);

 private:
  using Entries = std::map<std::string, storage::CollectionEntry, std::less<>>;  // by ns
  std::shared_ptr<const Entries> entries(const past::DeclaredSnapshot& snapshot);

  past::Past& past_;
  base::Mutex mutex_;
  // The entries of snapshots, by collection. What they say never changes.
  base::Lru<uint64_t, std::shared_ptr<const Entries>> entries_ GUARDED_BY(mutex_){4096};
  base::Lru<std::string, std::shared_ptr<past::PastCollection>> views_ GUARDED_BY(mutex_){256};
};

}  // namespace versions
