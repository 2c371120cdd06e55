// Databases as declared snapshots show them: which collections there were, under their names then.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "base/lru.h"
#include "versions/past/past_collection.h"

namespace versions {

// Thread-safe.
class PastViews {
 public:
  explicit PastViews(past::Past& past) : past_(past) {}

  past::Past& past() const { return past_; }

  // By what a database's name has behind its `@`; as past::Snapshots::find.
  std::optional<past::DeclaredSnapshot> find(std::string_view ref) const { return past_.snapshots().find(ref); }
  struct BranchThen {
    // What it showed of a collection; nullptr: it didn't know it. Empty: the database had no branches.
    std::function<std::shared_ptr<past::ShownRecords>(storage::CollectionId)> shown = {};
    bool own = true;  // what the database's own name stood for: collections without versions are its
  };
  // Asked for where it isn't known yet.
  using FindBranch = std::function<BranchThen()>;
  // `ns` is what it is called now, `home` what it was called then. nullptr: there was none. Not inside a transaction.
  std::shared_ptr<storage::Collection> open(const past::DeclaredSnapshot& snapshot, std::string_view ns, const std::string& home,
                                            const FindBranch& find_branch = nullptr);
  // Those of the database `home`, by name.
  std::vector<std::shared_ptr<storage::Collection>> collections(const past::DeclaredSnapshot& snapshot, std::string_view db,
                                                                std::string_view home, const FindBranch& find_branch = nullptr);

 private:
  using Entries = std::map<std::string, storage::CollectionEntry, std::less<>>;  // by ns
  std::shared_ptr<const Entries> entries(const past::DeclaredSnapshot& snapshot);

  past::Past& past_;
  std::mutex mutex_;
  base::Lru<uint64_t, std::shared_ptr<const Entries>> entries_{
      4096};  // of snapshots; by collections. What they say never changes.
  base::Lru<std::string, std::shared_ptr<past::PastCollection>> views_{256};
};

}  // namespace versions
