// A MergeRequest says what merge, cherryPick, revert or continueMerge merges into a branch, and how.
#pragma once

#include "server/core/arguments.h"
#include "versions/database/databases.h"

namespace server {

class OperationContext;

class MergeRequest {
 public:
  using MergeKind = versions::Branches::MergeKind;

  // Reads the command's arguments: `from`, `into`, `branch`, `mode`, `resolve`, `paths`, `collections`. `op` outlives it. Throws
  // the errors of wrong arguments.
  MergeRequest(OperationContext& op, MergeKind kind, std::string from, const Arguments& arguments);
  // Reads a request that write() made.
  static MergeRequest read(OperationContext& op, bson::DocumentView kept);
  bson::Document write() const;

  // A rebase picks commits one by one on a branch of its own; each pick is a merge that waits there until it is made.
  struct Rebase {
    std::string branch;  // gets the picks when all are made
    std::string head;    // its last commit when the rebase began, in hex
    std::string onto;    // the commit that the picks begin with, in hex
  };
  const std::optional<Rebase>& rebase() const { return rebase_; }
  // Makes this the pick of a commit for a rebase.
  void pick_for(Rebase rebase, versions::CommitNumber commit, std::string name);
  // Makes this what waits when all picks are made, until the rebase's branch has taken them over. `last` is where they end, so
  // it is a merge that changes nothing.
  void take_over_for(Rebase rebase, versions::CommitNumber last, std::string name);
  bool only_takes_over() const { return rebase_ && kind() == MergeKind::merge; }

  MergeKind kind() const { return request_.kind; }
  // Returns "merge of dev", for messages.
  std::string description() const;

  // Finds the commit that `from` names now; throws NamespaceNotFound. If both branches get the merge's commit, `from` must be a
  // branch.
  void find(storage::Transaction& transaction, const versions::BranchedDatabase& database);
  versions::CommitNumber commit() const { return request_.from; }
  // Returns the new commit's message and author: from the arguments of the command that ends the merge, else from those of the
  // command that began it, else as of the commit that is picked or reverted.
  versions::CommitInfo info(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                            const Arguments& now) const;
  // Returns the branch that gets the changes: that of `ref`, or a new one that begins there.
  versions::Branch into(storage::Transaction& transaction, versions::BranchedDatabase& database, const versions::Ref& ref) const;
  // currentOp shows from now on how far the merge into this commit is. Only the transaction's merge may follow.
  void show_progress(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                     versions::CommitNumber into);
  // Continues the merge that is under way.
  void go_on(versions::CommitNumber from);
  const versions::BranchedDatabase::MergeRequest& request() const { return request_; }

  // Returns whether the collection's conflicts are kept for somebody to decide.
  bool manual(const std::string& collection) const;
  bool all_manual(const std::vector<versions::BranchedDatabase::Conflict>& conflicts) const;

 private:
  struct Terms {
    versions::MergeRules rules;
    bool manual = false;
  };
  static Terms terms(OperationContext& op, const Arguments& arguments, Terms defaults);

  std::string from_;
  bson::Document arguments_;  // the ones that say how to merge
  std::string new_branch_;    // empty: none
  bool both_ = false;
  bool manual_ = false;
  std::map<std::string, bool> manual_of_;
  std::optional<Rebase> rebase_;
  versions::BranchedDatabase::MergeRequest request_;
};

// Throws BadValue for resolve: "manual", also of single collections: conflicts of `what` can't wait for somebody to decide them.
void refuse_manual(const Arguments& arguments, std::string_view what);

std::string_view name_of(versions::Branches::MergeKind kind);
// The operation's budget counts the memory that a merge keeps. The merge's result is counted too, so it must not outlive the
// operation.
versions::Hold hold_in(OperationContext& op);
// Appends conflictCount, and the first conflicts: a thousand, or fewer if they are long.
void append_conflicts(const std::vector<versions::BranchedDatabase::Conflict>& conflicts, bson::Builder& out);
// Appends a conflict, and of its paths those that have a megabyte together.
void append_conflict(const versions::BranchedDatabase::Conflict& conflict, bson::Builder& out);
// Throws OperationFailed, with the conflicts.
[[noreturn]] void fail_with_conflicts(const std::string& what,
                                      const std::vector<versions::BranchedDatabase::Conflict>& conflicts);

// Work of in_transaction throws NotKept if its transaction must not be committed, and the caller catches it.
struct NotKept {};

}  // namespace server
