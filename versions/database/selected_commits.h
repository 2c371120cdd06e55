// SelectedCommits are a database's commits as they are with some of its collections alone.
//
//   commit   parents, time, metadata, roots of all collections
//   selected the same parents' selected commits, the same time, metadata that name the commit and the selection, some of the
//   roots
//
// They have ids of their own, which are the same on every server for the same selection. Nothing of them is stored here.
#pragma once

#include <map>
#include <set>
#include <string>

#include "versions/database/branched_database.h"
#include "versions/pack/pack.h"

namespace versions {

// One thread uses it. The database and the transaction outlive it.
class SelectedCommits {
 public:
  // Takes names of collections. Throws NamespaceNotFound if one isn't there, IllegalOperation if the database is a selection
  // itself.
  SelectedCommits(BranchedDatabase& database, Transaction& transaction, std::set<std::string> collections);

  // Throws IllegalOperation if the id isn't known, since the commit or one that it comes from was dropped or never arrived.
  const Hash& id(CommitNumber number) const;
  std::optional<CommitNumber> find(const Hash& id) const;
  bool has(storage::CollectionId collection) const { return ids_.contains(collection); }
  const std::set<storage::CollectionId>& collections() const { return ids_; }
  // The commit's metadata, with {madeFrom: {commit: <hex>, collections: [<name>, …]}}.
  Bytes metadata(const Commit& commit) const;

 private:
  BranchedDatabase& database_;
  Transaction& transaction_;
  std::set<std::string> names_;
  std::set<storage::CollectionId> ids_;
  std::map<CommitNumber, Hash> selected_;
  std::map<Hash, CommitNumber> numbers_;
};

constexpr std::string_view made_from = "madeFrom";  // the field of metadata

// Returns whether the commit is one that was made from another server's.
bool is_selected(const Commit& commit);

}  // namespace versions
