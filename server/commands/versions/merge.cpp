// merge, cherryPick and revert: what another line has changed, or one commit, comes to a branch, or goes from it.
#include <algorithm>

#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_request.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/batch.h"

namespace server {
namespace {

using versions::BranchedDatabase;
using Bring = versions::Branches::Bring;

class BringCommand : public Command {
 public:
  explicit BringCommand(Bring kind) : kind_(kind) {}

  std::string_view name() const override { return name_of(kind_); }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mode",    "resolve", "paths", "collections", "dryRun",
                                                 "message", "author",  "into",  "branch"};
    return kind_ == Bring::merge ? FieldNames(names) : FieldNames(names).first(7);
  }
  std::string_view help() const override {
    switch (kind_) {
      case Bring::merge:
        return "bring what another line has changed to the branch that the database's name says\n"
               "{ merge: <branch, tag or commit>, mode: fieldTouched | fieldDivergent | documentTouched | documentDivergent,\n"
               "  resolve: fail | ours | theirs | manual | [ <stages over $$base, $$ours, $$theirs> ],\n"
               "  paths: { <path>: sum | max | min | union | append | ours | theirs | {byKey: <field>} },\n"
               "  collections: { <name>: { mode, resolve, paths } }, into: head | both | new, branch: <of into: new>,\n"
               "  dryRun: <bool>, message: <string>, author: <string> }\n"
               "Where there are conflicts nothing is merged; with resolve: manual they can be decided one by one "
               "(listConflicts).";
      case Bring::cherry_pick:
        return "bring what one commit has changed to the branch\n{ cherryPick: <branch, tag or commit>, … as merge, without into "
               "}";
      case Bring::revert: break;
    }
    return "take back what one commit has changed\n{ revert: <branch, tag or commit>, … as merge, without into }";
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bool dry_run = arguments.loose_boolean("dryRun").value_or(false);
    MergeRequest how(op, kind_, std::string(arguments.required_string(name())), arguments);
    const versions::Ref ref = ref_of(request);
    const auto database = branched(op, request);

    BranchedDatabase::Merge merge;
    std::string into, head;
    const auto indexes = database->keep_indexes();
    const auto prepare_or_merge = [&] {
      return write::in_transaction(op, [&](storage::Transaction& transaction) {
        how.find(transaction, *database);
        if (database->prepare_merge(transaction, ref, how.request())) return false;
        const versions::Branch branch = how.into(transaction, *database, ref);
        into = branch.name;
        head = hex(database->branches().graph().commit(transaction, branch.head)->id);
        merge = database->merge(transaction, branch.name, how.request(), how.info(op, transaction, *database, arguments));
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
    if (stops && !std::all_of(conflicts.begin(), conflicts.end(), [&](const auto& one) { return how.manual(one.collection); })) {
      fail_with_conflicts("the " + how.description(), conflicts);
    }
    if (stops) begin(op, *database, how, ref);
    reply.append("branch", into).append("commit", head).append("changed", conflicts.empty() && (merge.commit || merge.advanced));
    append_count(reply, "touchedByBoth", static_cast<int64_t>(merge.touched_by_both));
    if (stops) reply.append("merging", true);
    if (stops || dry_run) append_conflicts(conflicts, reply);
  }

 private:
  static void begin(OperationContext& op, BranchedDatabase& database, const MergeRequest& how, const versions::Ref& ref) {
    write::in_transaction(op, [&](storage::Transaction& transaction) {
      const versions::Branch branch = how.into(transaction, database, ref);
      database.begin_merge(transaction, branch, {how.commit(), how.write()});
    });
  }

  const Bring kind_;
};

}  // namespace

std::unique_ptr<Command> make_merge_command() {
  return std::make_unique<BringCommand>(Bring::merge);
}
std::unique_ptr<Command> make_cherry_pick_command() {
  return std::make_unique<BringCommand>(Bring::cherry_pick);
}
std::unique_ptr<Command> make_revert_command() {
  return std::make_unique<BringCommand>(Bring::revert);
}

}  // namespace server
