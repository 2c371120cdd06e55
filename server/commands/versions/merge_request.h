// What merge, cherryPick, revert and continueMerge have in common: how something is to be brought to a branch, and how it comes
// out.
#pragma once

#include "server/core/arguments.h"
#include "versions/database/databases.h"

namespace server {

class OperationContext;

class MergeRequest {
 public:
  using Bring = versions::Branches::Bring;

  // From the arguments of the command: `from`, `into`, `branch`, `mode`, `resolve`, `paths`, `collections`. `op` outlives it.
  // Throws what they deserve.
  MergeRequest(OperationContext& op, Bring kind, std::string from, const Arguments& arguments);
  // From what was kept of them.
  static MergeRequest read(OperationContext& op, bson::DocumentView kept);
  bson::Document write() const;

  Bring kind() const { return request_.kind; }
  // "merge of dev", for messages.
  std::string description() const;

  // The commit that is meant now; throws NamespaceNotFound. And, where both branches go on, that it is a branch's last.
  void find(storage::Transaction& transaction, const versions::BranchedDatabase& database);
  versions::CommitNumber commit() const { return request_.from; }
  // What the arguments of the command that ends it don't say was said when it began; else it is as the commit's that is picked or
  // taken back.
  versions::CommitInfo info(OperationContext& op, storage::Transaction& transaction, versions::BranchedDatabase& database,
                            const Arguments& now) const;
  // The branch that gets what comes: that of `ref`, or a new one that begins there.
  versions::Branch into(storage::Transaction& transaction, versions::BranchedDatabase& database, const versions::Ref& ref) const;
  // Goes on with the merge that is under way.
  void go_on(versions::CommitNumber from);
  const versions::BranchedDatabase::MergeRequest& request() const { return request_; }

  // Conflicts of these are kept for somebody to decide.
  bool manual(const std::string& collection) const;

 private:
  struct Terms {
    versions::MergeRules rules;
    bool manual = false;
  };
  static Terms terms(OperationContext& op, const Arguments& arguments, Terms defaults);

  std::string from_;
  bson::Document arguments_;  // those that say how
  std::string new_branch_;    // empty: none
  bool both_ = false;
  bool manual_ = false;
  std::map<std::string, bool> manual_of_;
  versions::BranchedDatabase::MergeRequest request_;
};

std::string_view name_of(versions::Branches::Bring kind);
// conflictCount, and the first thousand.
void append_conflicts(const std::vector<versions::BranchedDatabase::Conflict>& conflicts, bson::Builder& out);
void append_conflict(const versions::BranchedDatabase::Conflict& conflict, bson::Builder& out);
// Throws OperationFailed, with the conflicts.
[[noreturn]] void fail_with_conflicts(const std::string& what,
                                      const std::vector<versions::BranchedDatabase::Conflict>& conflicts);

// What a transaction came to that must not be committed: thrown in in_transaction's work, and caught around it.
struct NotKept {};

}  // namespace server
