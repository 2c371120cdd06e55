// SelectedCommits are a database's commits as they are with some of its collections alone, or some of their documents.
//
//   commit   parents, time, metadata, roots of all collections
//   selected the same parents' selected commits, the same time, metadata that name the commit and the selection, roots of some
//            collections; where there is a filter, of the trees of the documents that it matches
//
// They have ids of their own, which are the same on every server for the same selection. Nothing of them is stored here.
#pragma once

#include <map>
#include <memory>

#include "versions/database/commit_rows.h"
#include "versions/database/filtered_roots.h"
#include "versions/database/selection.h"
#include "versions/pack/pack.h"

namespace versions {

// The caller compiles filters, whose language is above this folder. `known` and what the functions use outlive the commits.
struct Filtering {
  std::function<Matches(bson::DocumentView filter, const bson::CollatorPtr& collator)> compile = {};
  KnownRoots* known = nullptr;
  std::function<void()> interrupted = {};  // may throw
  uint64_t old_nodes_bytes = 64 << 20;     // 0: each tree is made anew, for tests
};

// One thread uses it. The database and the transaction outlive it.
class SelectedCommits {
 public:
  // Throws NamespaceNotFound if a collection isn't there, IllegalOperation if the database is a selection itself, or shows
  // purged documents where there is a filter.
  SelectedCommits(BranchedDatabase& database, Transaction& transaction, Selection selection, const Filtering& filtering,
                  const std::function<void()>& interrupted = {});

  // Throws IllegalOperation if the id isn't known, since the commit or one that it comes from was dropped or never arrived.
  const Hash& id(CommitNumber number) const;
  std::optional<Hash> known_id(CommitNumber number) const {
    const auto found = selected_.find(number);
    return found == selected_.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<CommitNumber> find(const Hash& id) const;
  bool has(storage::CollectionId collection) const { return collections_.contains(collection); }
  std::set<storage::CollectionId> collections() const;
  // Returns the root that the selected commit has for a collection in it.
  Hash root(const Commit& commit, const CollectionState& state) const;
  // Leaves in the row what the selected commits show. Returns whether it is still a change.
  bool show(CommitRows::Row& row) const;
  // The commit's metadata, with {madeFrom: {commit: <hex>, collections: [<name>, …], filter: {<name>: <query>, …}}}.
  Bytes metadata(const Commit& commit) const;

 private:
  struct Selected {
    std::shared_ptr<SharedCollection> shared;
    std::unique_ptr<FilteredRoots> filtered;  // nullptr: all its documents
  };
  void choose_collections(const Filtering& filtering);

  BranchedDatabase& database_;
  Transaction& transaction_;
  const Selection selection_;
  std::map<storage::CollectionId, Selected> collections_;
  std::map<CommitNumber, Hash> selected_;
  std::map<Hash, CommitNumber> numbers_;
  std::map<std::pair<CommitNumber, storage::CollectionId>, Hash> filtered_;  // roots
};

}  // namespace versions
