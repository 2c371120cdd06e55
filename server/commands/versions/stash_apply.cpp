// stashApply applies a stash's changes to a branch, where they aren't committed; stashPop drops the stash then.
#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_request.h"
#include "server/commands/versions/planned_changes.h"
#include "server/commands/versions/popped_stashes.h"
#include "server/commands/versions/stashes.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server {
namespace {

using versions::BranchedDatabase;

class StashCommand : public Command {
 public:
  explicit StashCommand(bool drops) : drops_(drops) {}

  std::string_view name() const override { return drops_ ? "stashPop" : "stashApply"; }
  std::string_view help() const override {
    return drops_ ? "apply the changes of a stash to the branch, uncommitted, and drop the stash\n"
                    "{ stashPop: <number>, … as stashApply }\nIf there are conflicts, nothing is changed and the stash stays."
                  : "apply the changes of a stash to the branch, uncommitted, and keep the stash\n"
                    "{ stashApply: <number>, mode, resolve, paths, collections: as merge, without resolve: \"manual\", "
                    "dryRun: <bool> }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mode", "resolve", "paths", "collections", "dryRun"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const uint64_t number = stash_number(arguments, name());
    const bool dry_run = arguments.loose_boolean("dryRun").value_or(false);
    refuse_manual(arguments, "a stash");
    const std::string what = "stash " + std::to_string(number);
    const MergeRequest how(op, MergeRequest::MergeKind::cherry_pick, what, arguments);
    const auto database = branched(op, request);
    storage::Store& store = write::store_of(op);
    BranchedDatabase::Planned planned;
    std::string branch;
    const bool pops = drops_ && !dry_run;
    if (pops) make_popped_collection(op);
    PoppedStash popped{.number = number, .commit = {}, .branch = {}};
    const auto plan = [&] {
      storage::Transaction transaction(store, storage::Transaction::Mode::read);
      const versions::Branch onto = database->branch(transaction, ref_of(request));
      branch = onto.name;
      BranchedDatabase::MergeRequest pick = how.request();
      pick.from = drops_
                      ? find_stash(op, transaction, *database, number, {access::Action::find, access::Action::resetBranch}).commit
                      : find_stash(op, transaction, *database, number, {access::Action::find}).commit;
      planned = database->plan_pick(transaction, onto, pick);
      popped.commit = hex(database->branches().graph().commit(transaction, pick.from)->id);
      popped.branch = branch;
      for (const storage::CollectionId id : planned.dropped) {
        if (const auto shared = database->versions_of(id)) popped.dropped.emplace_back(storage::collection_of(shared->base.ns()));
      }
    };
    const auto apply = [&](const auto&) {
      end_pops(op, *database);
      plan();
      if (!planned.conflicts.empty()) return;
      if (!pops) return write_planned(op, *database, branch, planned);
      {
        const write::Target target = popped_target(op);
        write_planned(op, *database, branch, planned,
                      [&](storage::Transaction& transaction) { put_popped(op, transaction, target, *database, popped); });
      }
      const storage::InterruptibleWaits uninterrupted(nullptr);  // what is committed is followed to its end
      end_pops(op, *database);
    };
    if (dry_run)
      plan();  // it reads, and nobody has to wait for it
    else
      store.catalog().alone(database->name(), op.interrupted(), apply);
    if (!dry_run && !planned.conflicts.empty()) fail_with_conflicts(what, planned.conflicts);
    const bool changes = !planned.plans.empty() || !planned.made.empty() || !planned.dropped.empty();
    reply.append("branch", branch);
    append_count(reply, "stash", static_cast<int64_t>(number));
    reply.append("changed", changes && planned.conflicts.empty());
    append_count(reply, "touchedByBoth", static_cast<int64_t>(planned.touched_by_both));
    if (dry_run) append_conflicts(planned.conflicts, reply);
  }

 private:
  const bool drops_;
};

}  // namespace

std::unique_ptr<Command> make_stash_apply_command() {
  return std::make_unique<StashCommand>(false);
}

std::unique_ptr<Command> make_stash_pop_command() {
  return std::make_unique<StashCommand>(true);
}

}  // namespace server
