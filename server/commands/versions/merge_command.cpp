#include "server/commands/versions/merge_command.h"

#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_request.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"
#include "server/write/commit_check.h"

namespace server {

using versions::BranchedDatabase;

namespace {

// Keeps the merge, which met conflicts, until somebody has decided them.
void begin(OperationContext& op, BranchedDatabase& database, const MergeRequest& how, const versions::Ref& ref) {
  write::in_transaction(op, [&](storage::Transaction& transaction) {
    const versions::Branch branch = how.into(transaction, database, ref);
    database.begin_merge(transaction, branch, {how.commit(), how.write()});
  });
}

}  // namespace

std::string_view MergeCommand::name() const {
  return name_of(kind_);
}

std::optional<Command::FieldNames> MergeCommand::fields() const {
  static constexpr std::string_view names[] = {"mode",   "resolve", "paths",  "collections",
                                               "dryRun", "message", "author", "bypassDocumentValidation"};
  return names;
}

void MergeCommand::run(OperationContext& op, const Request& request, bson::Builder& reply) {
  const Arguments arguments(request);
  const bool dry_run = arguments.loose_boolean("dryRun").value_or(false);
  const bool squash = arguments.loose_boolean("squash").value_or(false);
  MergeRequest how(op, squash ? Kind::squash : kind_, std::string(arguments.required_string(name())), arguments);
  const versions::Ref ref = ref_of(request);
  const auto database = branched(op, request);

  BranchedDatabase::Merge merge;
  std::string into, head;
  const auto indexes = database->keep_indexes(op.interrupted());
  const auto prepare_or_merge = [&] {
    return write::in_transaction(op, [&](storage::Transaction& transaction) {
      how.find(transaction, *database);
      if (database->prepare_merge(transaction, ref, how.request())) return false;
      const versions::Branch branch = how.into(transaction, *database, ref);
      into = branch.name;
      head = hex(database->branches().graph().commit(transaction, branch.head)->id);
      how.show_progress(op, transaction, *database, branch.head);
      merge = database->merge(transaction, branch.name, how.request(), how.info(op, transaction, *database, arguments));
      if (merge.commit && merge.conflicts.empty())
        write::check_commit(op, transaction, *database, branch.head, merge.commit->number);
      if (dry_run || !merge.conflicts.empty()) throw NotKept();
      if (merge.commit) head = hex(merge.commit->id);
      return true;
    });
  };
  try {
    while (!prepare_or_merge()) op.check_interrupt();
  } catch (const NotKept&) {
  }
  const auto& conflicts = merge.conflicts;
  const bool stops = !conflicts.empty() && !dry_run;
  if (stops && !how.all_manual(conflicts)) fail_with_conflicts("the " + how.description(), conflicts);
  if (stops) begin(op, *database, how, ref);
  reply.append("branch", into).append("commit", head).append("changed", conflicts.empty() && (merge.commit || merge.advanced));
  append_count(reply, "touchedByBoth", static_cast<int64_t>(merge.touched_by_both));
  if (stops) reply.append("merging", true);
  if (stops || dry_run) append_conflicts(conflicts, reply);
}

}  // namespace server
