#include "server/commands/versions/rewrite.h"

#include <algorithm>

#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/open_merge.h"
#include "server/commands/versions/picks.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"
#include "server/write/keep_for_log.h"
#include "server/write/replacement.h"
#include "server/write/target.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using versions::Branch;
using versions::BranchedDatabase;

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw OperationError(ErrorCode::illegal_operation, why);
}

void check_committed(storage::Transaction& transaction, BranchedDatabase& database, const Branch& branch) {
  if (database.has_pending(transaction, branch.id)) refuse("branch '" + branch.name + "' has changes that are not committed");
}

std::string id_of(storage::Transaction& transaction, BranchedDatabase& database, versions::CommitNumber commit) {
  return hex(database.branches().graph().commit(transaction, commit)->id);
}

// A pick of a rebase, and what became of it.
struct Pick {
  enum class Outcome { prepared, made, conflicts, none } outcome = Outcome::none;
  bool changed = false;
  BranchedDatabase::Merge merge = {};
  MergeRequest::Rebase rebase = {};
  std::string head = {};  // of the branch that is written on, in hex
  std::string description = {};
  bool manual = false;
  size_t left = 0;  // commits that are picked after it
};

Pick make_pick(OperationContext& op, BranchedDatabase& database, const std::string& written, const Arguments& arguments) {
  Pick pick;
  const auto work = [&](storage::Transaction& transaction) {
    pick = {};
    const Branch branch = database.branch(transaction, {.name = written});
    if (!database.open_merge(transaction, branch)) return;
    MergeRequest how = open_merge(op, transaction, database, branch);
    if (!how.rebase()) refuse("the merge that waits on branch '" + written + "' belongs to no rebase");
    pick.rebase = *how.rebase();
    pick.head = id_of(transaction, database, branch.head);
    pick.description = how.description();
    if (how.only_takes_over()) {
      pick.outcome = Pick::Outcome::made;
      return;
    }
    pick.outcome = Pick::Outcome::prepared;
    if (database.prepare_merge(transaction, {.name = written}, how.request())) return;
    pick.merge = database.merge(transaction, written, how.request(), how.info(op, transaction, database, arguments));
    auto left = commits_to_pick(transaction, database, pick.rebase);
    const auto picked = std::find(left.begin(), left.end(), how.commit());
    left.erase(left.begin(), picked == left.end() ? picked : picked + 1);
    pick.left = left.size();
    if (!pick.merge.conflicts.empty()) {
      pick.outcome = Pick::Outcome::conflicts;
      pick.manual = how.all_manual(pick.merge.conflicts);
      throw NotKept();
    }
    if (pick.merge.commit) write::check_commit(op, transaction, database, branch.head, pick.merge.commit->number);
    pick.outcome = Pick::Outcome::made;
    pick.changed = pick.merge.commit != nullptr;
    const Branch now = database.branch(transaction, {.name = written});
    if (left.empty())
      how.take_over_for(pick.rebase, now.head, id_of(transaction, database, now.head));
    else
      how.pick_for(pick.rebase, left.front(), id_of(transaction, database, left.front()));
    database.begin_merge(transaction, now, {how.commit(), how.write()});
  };
  try {
    write::in_transaction(op, [&](storage::Transaction& transaction) { work(transaction); });
  } catch (const NotKept&) {
  }
  return pick;
}

// Nobody will take the picks over from the branch `written`, on which they stay, if the rebase's branch has gone on.
void end_if_gone_on(OperationContext& op, BranchedDatabase& database, const MergeRequest::Rebase& rebase,
                    const std::string& written) {
  write::in_transaction(op, [&](storage::Transaction& transaction) {
    const auto branch = database.branches().graph().branch(transaction, rebase.branch);
    if (branch && id_of(transaction, database, branch->head) == rebase.head) return;
    const Branch picks = database.branch(transaction, {.name = written});
    if (database.open_merge(transaction, picks)) database.abort_merge(transaction, picks);
  });
}

void rename(OperationContext& op, BranchedDatabase& database, const std::string& name, const std::string& to) {
  write::store_of(op).catalog().alone(database.name(), op.interrupted(), [&](const auto&) {
    write::in_transaction(op, [&](storage::Transaction& transaction) { database.rename(transaction, name, to); });
    database.forget_views(name);
  });
}

}  // namespace

std::string begin_rewriting(storage::Transaction& transaction, BranchedDatabase& database, const Branch& branch,
                            const versions::Ref& from) {
  check_committed(transaction, database, branch);
  if (database.open_merge(transaction, branch)) refuse("a merge waits on branch '" + branch.name + "'");
  std::string written = write::unfinished_name();
  database.create(transaction, written, from);
  return written;
}

std::string waiting_rebase(std::string_view branch) {
  return "rebase/" + std::string(branch);
}

std::string take_over(OperationContext& op, BranchedDatabase& database, const std::string& name, const std::string& head,
                      const std::string& written) {
  std::string id;
  write::store_of(op).catalog().alone(database.name(), op.interrupted(), [&](const auto&) {
    id = write::in_transaction(op, [&](storage::Transaction& transaction) {
      const Branch branch = database.branch(transaction, {.name = name});
      check_committed(transaction, database, branch);
      // A reset would end it, with all that was decided.
      if (database.open_merge(transaction, branch))
        refuse("a merge is under way on branch '" + name + "': continueMerge or abortMerge come first");
      if (id_of(transaction, database, branch.head) != head)
        refuse("branch '" + name + "' went on since its commits began to be written anew");
      check_committed(transaction, database, database.branch(transaction, {.name = written}));
      const auto lost = write::keep_for_log(op);
      const auto commit = database.reset(transaction, name, {.name = written}, lost);
      database.drop(transaction, written, lost);
      return hex(commit->id);
    });
    database.forget_views(written);
  });
  return id;
}

void drop_rewriting(OperationContext& op, BranchedDatabase& database, const std::string& written) {
  const storage::InterruptibleWaits uninterrupted(nullptr);
  op.services().store->catalog().alone(
      database.name(), [] {},
      [&](const auto&) {
        storage::in_transaction(*op.services().store, [&](storage::Transaction& transaction) {
          if (database.branches().graph().branch(transaction, written))
            database.drop(transaction, written, write::keep_for_log(op));
        });
        database.forget_views(written);
      });
}

void run_picks(OperationContext& op, BranchedDatabase& database, const std::string& written, const Arguments& arguments,
               bool goes_on, bson::Builder& reply) {
  const Arguments no_arguments("continueMerge", bson::DocumentView());
  int64_t picked = 0;
  bool first = true;
  std::optional<MergeRequest::Rebase> rebase;
  Pick pick;
  {
    const auto indexes = database.keep_indexes(op.interrupted());
    do {
      op.check_interrupt();
      pick = make_pick(op, database, written, goes_on && first ? arguments : no_arguments);
      if (pick.outcome != Pick::Outcome::none) rebase = pick.rebase;
      if (pick.outcome == Pick::Outcome::made) first = false;
      picked += pick.changed ? 1 : 0;
    } while (pick.outcome == Pick::Outcome::prepared || (pick.outcome == Pick::Outcome::made && pick.left > 0));
  }
  if (!rebase) refuse("no rebase waits on branch '" + written + "'");
  if (pick.outcome == Pick::Outcome::conflicts) {
    if (!pick.manual || (goes_on && first)) fail_with_conflicts("the " + pick.description, pick.merge.conflicts);
    const std::string waits = waiting_rebase(rebase->branch);
    if (!goes_on) rename(op, database, written, waits);
    reply.append("branch", waits).append("commit", pick.head).append("changed", false);
    append_count(reply, "picked", picked);
    append_count(reply, "left", static_cast<int64_t>(pick.left));
    reply.append("merging", true);
    append_conflicts(pick.merge.conflicts, reply);
    return;
  }
  if (goes_on) end_if_gone_on(op, database, *rebase, written);
  const std::string id = take_over(op, database, rebase->branch, rebase->head, written);
  reply.append("branch", rebase->branch).append("commit", id).append("changed", true);
  append_count(reply, "picked", picked);
}

}  // namespace server
