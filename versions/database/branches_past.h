// This shows the branches of a database as declared snapshots show them: a row is saved when it changes, and put together when a
// snapshot is read.
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

// Calls `read` when somebody first wants the set.
std::shared_ptr<past::ShownRecords> shown_records(std::function<RecordSet()> read);

// A CollectionPast is the part of one collection.
class CollectionPast final : public StatePast {
 public:
  CollectionPast(past::Past& past, storage::StoredCollection& base) : past_(past), base_(base) {}

  Stamp shown_before(Stamp write) const override;
  void save_content(Transaction& transaction, RecordId record, const storage::Superseded& before, Stamp write) override;
  void save_pending(Transaction& transaction, BranchId branch, RecordId record, char kind, Stamp since, Stamp write) override;
  RecordSet saved_additions(Transaction& transaction) override;
  // Returns whether snapshots show the collection on some branch, by the rows that were saved.
  bool saved_listed(Transaction& transaction) const;

 private:
  past::Past& past_;
  storage::StoredCollection& base_;
};

class BranchesPast {
 public:
  BranchesPast(past::Past& past, VersionGraph& graph, std::string name, uint32_t database)
      : past_(past), graph_(graph), name_(std::move(name)), database_(database) {}

  // Called before the row of a branch changes or goes (VersionGraph::set_changing).
  void changing(Transaction& transaction, const std::string& name, BytesView before) const;
  // The branches that the snapshot shows, by name.
  std::map<std::string, Branch> branches(Transaction& transaction, Stamp snapshot) const;
  std::optional<Branch> branch(Transaction& transaction, const std::string& name, Stamp snapshot) const;
  // Commits that branches ended at in declared snapshots and no longer end at. If a snapshot is older than the first commit, the
  // first commit is among them.
  std::vector<CommitNumber> held(Transaction& transaction) const;
  // Tells what had happened to a collection since the branch's last commit, in the snapshot. `branch` is as it was then.
  std::optional<Listing> listing(Transaction& transaction, SharedCollection& shared, const Branch& branch, Stamp snapshot) const;
  // The records of a collection that the branch shows in the snapshot. `branch` is as it was then.
  RecordSet shown(Transaction& transaction, SharedCollection& shared, const Branch& branch, Stamp snapshot) const;

  // Called before a database gets branches or loses them. `number` is the one that it had; nullopt: it had no branches.
  static void database_changing(past::Past& past, Transaction& transaction, std::string_view name,
                                std::optional<uint32_t> number);
  // Returns the number that the database had in the snapshot; an inner nullopt: it had no branches; an outer nullopt: it had the
  // number that it has now.
  static std::optional<std::optional<uint32_t>> database(past::Past& past, Transaction& transaction, std::string_view name,
                                                         Stamp snapshot);
  // Returns whether some snapshot shows the database of this number, by the rows that were saved.
  static bool shown_by_any_snapshot(past::Past& past, Transaction& transaction, uint32_t number);

 private:
  past::Past& past_;
  VersionGraph& graph_;
  const std::string name_;  // the database's
  const uint32_t database_;
};

}  // namespace versions
