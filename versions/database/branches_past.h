// What declared snapshots show of a database's branches: saved when it changes, and put together again.
//
//   past-states   'd', name                     -> number             of a database that has branches
//                 'b' database 4, name          -> a branch's row     versions-dbN-branches
//                 'p' collection 4 branch 4, record 8 -> 01 | 02      versions-N-pending: added, removed
//                 'l' collection 4, branch 4    -> 05 | 06 | 07       the same, of the collection itself
//
// Thread-safe; transactions are not.
#pragma once

#include "storage/contents/declared_snapshots.h"
#include "versions/branch/version_graph.h"
#include "versions/past/past_collection.h"

namespace versions {

struct SharedCollection;

// Asks for the set when it is first wanted.
std::shared_ptr<past::ShownRecords> shown_records(std::function<RecordSet()> read);

// Of one collection.
class CollectionPast final : public StatePast {
 public:
  CollectionPast(past::Past& past, storage::StoredCollection& base) : past_(past), base_(base) {}

  Stamp shown_before(Stamp write) const override;
  void save_content(Transaction& transaction, RecordId record, const storage::Superseded& before, Stamp write) override;
  void save_pending(Transaction& transaction, BranchId branch, RecordId record, char kind, Stamp since, Stamp write) override;
  RecordSet saved_additions(Transaction& transaction) override;
  // Whether snapshots show the collection on some branch, by rows that were saved.
  bool saved_listed(Transaction& transaction) const;

 private:
  past::Past& past_;
  storage::StoredCollection& base_;
};

class BranchesPast {
 public:
  BranchesPast(past::Past& past, VersionGraph& graph, std::string name, uint32_t database)
      : past_(past), graph_(graph), name_(std::move(name)), database_(database) {}

  // Before the row of a branch changes or goes (VersionGraph::set_changing).
  void changing(Transaction& transaction, const std::string& name, BytesView before) const;
  // By name.
  std::map<std::string, Branch> branches(Transaction& transaction, Stamp snapshot) const;
  std::optional<Branch> branch(Transaction& transaction, const std::string& name, Stamp snapshot) const;
  // Commits that branches were at in declared snapshots, and are no more; the first, where one is from before it.
  std::vector<CommitNumber> held(Transaction& transaction) const;
  // What had become of a collection on the branch, as it was then, since its last commit.
  std::optional<Listing> listing(Transaction& transaction, SharedCollection& shared, const Branch& branch, Stamp snapshot) const;
  // The records of a collection that the branch, as it was then, shows in the snapshot.
  RecordSet shown(Transaction& transaction, SharedCollection& shared, const Branch& branch, Stamp snapshot) const;

  // Whether a database has branches: before that changes. `number`: nullopt: it has none.
  static void database_changing(past::Past& past, Transaction& transaction, std::string_view name,
                                std::optional<uint32_t> number);
  // What the snapshot shows of that, if it is not what is now.
  static std::optional<std::optional<uint32_t>> database(past::Past& past, Transaction& transaction, std::string_view name,
                                                         Stamp snapshot);
  // Whether some snapshot shows that there was the database of this number, by rows that were saved.
  static bool tells_of(past::Past& past, Transaction& transaction, uint32_t number);

 private:
  past::Past& past_;
  VersionGraph& graph_;
  const std::string name_;  // of the database
  const uint32_t database_;
};

}  // namespace versions
