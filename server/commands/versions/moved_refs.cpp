#include "server/commands/versions/moved_refs.h"

#include <algorithm>

#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_progress.h"
#include "server/core/operation.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"
#include "server/write/commit_importer.h"
#include "server/write/keep_for_log.h"
#include "server/write/namespaces.h"
#include "storage/store.h"
#include "versions/database/imported_commit.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;
using versions::CommitNumber;
namespace pack = versions::pack;

namespace {

// Beyond so many documents a branch is reset, which costs nothing for each, instead of going forward in one transaction.
constexpr uint64_t documents_forward = 20'000;

CommitNumber number_of(storage::Transaction& transaction, const BranchedDatabase& database, const versions::Hash& id) {
  return database.place(transaction, {.name = hex(id)}).commit;
}

void check_quiet(storage::Transaction& transaction, BranchedDatabase& database, const versions::Branch& branch) {
  if (database.has_pending(transaction, branch.id)) {
    throw OperationError(ErrorCode::illegal_operation,
                         "branch '" + branch.name + "' has changes that are not committed, so it can't move");
  }
  if (database.open_merge(transaction, branch)) {
    throw OperationError(ErrorCode::illegal_operation,
                         "a merge is under way on branch '" + branch.name + "': continueMerge or abortMerge come first");
  }
}

// `head`: where the branch ended when it was decided to reset it.
void reset(OperationContext& op, BranchedDatabase& database, const std::string& name, CommitNumber head,
           const versions::Hash& to) {
  write::store_of(op).catalog().alone(database.name(), op.interrupted(), [&](const auto&) {
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::Branch branch = database.branch(transaction, {.name = name});
      check_quiet(transaction, database, branch);
      if (branch.head != head)
        throw OperationError(ErrorCode::illegal_operation, "somebody else moved branch '" + name + "' meanwhile");
      database.reset(transaction, name, {.name = hex(to)}, write::keep_for_log(op));
    });
  });
}

// A bundle's branch `main` is the tag `bundle/main`, while `feature/main` is a branch of its own. If there is none of these, the
// first of the refs stands for it. There is at least one.
const pack::Ref& main_of(const std::vector<pack::Ref>& refs) {
  const std::string main(BranchedDatabase::main);
  const auto is_main = [&](const pack::Ref& one) { return one.kind == pack::Ref::Kind::branch && one.name == main; };
  const auto is_tag = [&](const pack::Ref& one) { return one.kind == pack::Ref::Kind::tag && one.name.ends_with("/" + main); };
  auto ref = std::find_if(refs.begin(), refs.end(), is_main);
  if (ref == refs.end()) ref = std::find_if(refs.begin(), refs.end(), is_tag);
  return ref == refs.end() ? refs.front() : *ref;
}

std::string_view move_branch(OperationContext& op, BranchedDatabase& database, const pack::Ref& ref, bool force) {
  enum class Step { done, reset };
  std::string_view happened = "unchanged";
  CommitNumber head = 0;
  const auto check = [&](storage::Transaction& transaction, CommitNumber before, CommitNumber after) {
    if (before == after) return;
    // Nobody knows what an absent commit shows.
    const bool known = before != 0 && !database.branches().graph().absent(transaction, before);
    write::check_commit(op, transaction, database, known ? before : 0, after);
  };
  const auto forward = [&](storage::Transaction& transaction) {
    happened = "unchanged";
    const CommitNumber to = number_of(transaction, database, ref.commit);
    const auto branch = database.branches().graph().branch(transaction, ref.name);
    if (!branch) {
      versions::check_new_name(ref.name);
      // Nobody has looked at what comes after the commits that main has too.
      const versions::Branch main = database.branch(transaction, {.name = std::string(BranchedDatabase::main)});
      check(transaction, database.branches().graph().common_ancestor(transaction, main.head, to), to);
      database.create(transaction, ref.name, {.name = hex(ref.commit)});
      happened = "made";
      return Step::done;
    }
    head = branch->head;
    if (head == to) return Step::done;
    check_quiet(transaction, database, *branch);
    if (database.branches().graph().common_ancestor(transaction, branch->head, to) != branch->head) {
      if (!force) {
        throw OperationError(ErrorCode::illegal_operation,
                             "branch '" + ref.name + "' has commits that " + hex(ref.commit).substr(0, 16) +
                                 " doesn't come from: fetch and merge them first. With force: true the branch gives them up");
      }
      check(transaction, branch->head, to);
      happened = "reset";
      return Step::reset;
    }
    check(transaction, branch->head, to);
    happened = "moved";
    if (versions_between(transaction, database, branch->head, to) > documents_forward) return Step::reset;
    const auto merge = database.advance(transaction, ref.name, to, op.interrupted());
    if (!merge.conflicts.empty()) {
      throw OperationError(ErrorCode::duplicate_key, "branch '" + ref.name +
                                                         "' would show two documents under one key of the unique index " +
                                                         merge.conflicts.front().index);
    }
    return Step::done;
  };
  Step step = Step::done;
  {
    // A reset waits for those who change indexes, and these wait for this.
    const auto indexes = database.keep_indexes(op.interrupted());
    step = write::in_transaction(op, forward);
  }
  if (step == Step::reset) reset(op, database, ref.name, head, ref.commit);
  return happened;
}

}  // namespace

std::string_view move_ref(OperationContext& op, BranchedDatabase& database, const pack::Ref& ref, bool force) {
  versions::check_branch_name(ref.name);
  check_not_of_remote(op, database.name(), ref.name);
  if (ref.kind == pack::Ref::Kind::branch) {
    write::check_branch_creatable(ref.name);
    return move_branch(op, database, ref, force);
  }
  return write::in_transaction(op, [&](storage::Transaction& transaction) -> std::string_view {
    const CommitNumber to = number_of(transaction, database, ref.commit);
    const auto there = database.branches().graph().tag(transaction, ref.name);
    if (there == to) return "unchanged";
    if (!there) versions::check_new_name(ref.name);
    if (there && !force) {
      throw OperationError(ErrorCode::illegal_operation,
                           "tag '" + ref.name + "' names another commit. With force: true it moves");
    }
    database.put_tag(transaction, ref.name, to);
    return there ? "moved" : "made";
  });
}

void leave_shallow_root(OperationContext& op, BranchedDatabase& database, const std::vector<pack::Ref>& refs) {
  const std::string main(BranchedDatabase::main);
  CommitNumber root = 0;
  {
    storage::Transaction transaction(write::store_of(op), storage::Transaction::Mode::read);
    const versions::Branch branch = database.branch(transaction, {.name = main});
    const auto head = database.branches().graph().commit(transaction, branch.head);
    if (refs.empty() || !versions::is_shallow_root(*head) || database.has_pending(transaction, branch.id)) return;
    root = branch.head;
  }
  reset(op, database, main, root, main_of(refs).commit);
}

std::string_view leave_first(OperationContext& op, BranchedDatabase& database, const std::vector<pack::Ref>& refs) {
  if (refs.empty()) return "unchanged";
  return move_branch(op, database, {pack::Ref::Kind::branch, std::string(BranchedDatabase::main), main_of(refs).commit}, false);
}

std::string_view make_indexes(OperationContext& op, write::CommitImporter& importer, const pack::Header& header,
                              const std::vector<pack::Ref>& refs) {
  std::string_view left = "unchanged";
  try {
    importer.make_indexes(header);
  } catch (const OperationError& error) {
    if (error.code() != ErrorCode::duplicate_key || !importer.has_just_begun()) throw;
    left = leave_first(op, *importer.database(), refs);
    importer.make_indexes(header);
  }
  if (left == "unchanged" && importer.has_begun_what_expires()) left = leave_first(op, *importer.database(), refs);
  return left;
}

std::vector<pack::Ref> track(OperationContext& op, BranchedDatabase& database, const Remote& remote,
                             const std::vector<pack::Ref>& refs) {
  return write::in_transaction(op, [&](storage::Transaction& transaction) {
    std::vector<pack::Ref> moved;
    for (const pack::Ref& ref : refs) {
      const CommitNumber to = number_of(transaction, database, ref.commit);
      const std::string name = remote.tag(ref.name);
      if (database.branches().graph().tag(transaction, name) == to) continue;
      database.put_tag(transaction, name, to);
      moved.push_back({pack::Ref::Kind::tag, name, ref.commit});
    }
    return moved;
  });
}

}  // namespace server
