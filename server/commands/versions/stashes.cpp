#include "server/commands/versions/stashes.h"

#include "base/error.h"
#include "server/commands/shared/branches.h"
#include "server/commands/versions/merge_request.h"
#include "server/commands/versions/planned_changes.h"
#include "server/commands/versions/popped_stashes.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/scale.h"
#include "server/write/target.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using versions::BranchedDatabase;

uint64_t stash_number(const Arguments& arguments, std::string_view command) {
  const int64_t number = arguments.required_integer(command);
  if (number < 1) throw OperationError(ErrorCode::bad_value, "'" + std::string(command) + "' is the number of a stash, from 1");
  return static_cast<uint64_t>(number);
}

bool may_at_stash(const OperationContext& op, const BranchedDatabase& database, const Stash& stash, access::Action action) {
  const std::string resource =
      stash.branch == BranchedDatabase::main ? database.name() : database.name() + "@" + versions::escaped(stash.branch);
  return may(op, {action}, access::Resource::of_database(resource));
}

Stash find_stash(OperationContext& op, storage::Transaction& transaction, BranchedDatabase& database, uint64_t number,
                 std::initializer_list<access::Action> needed) {
  for (const Stash& one : stashes_of(op, transaction, database)) {
    if (one.number != number) continue;
    for (const access::Action action : needed) {
      if (!may_at_stash(op, database, one, action))
        throw OperationError(ErrorCode::unauthorized, "not authorized on branch '" + one.branch + "', on which stash " +
                                                          std::to_string(number) + " was made");
    }
    return one;
  }
  throw OperationError(ErrorCode::namespace_not_found,
                       "database '" + database.name() + "' has no stash " + std::to_string(number));
}

std::optional<Command::FieldNames> StashCommand::fields() const {
  static constexpr std::string_view names[] = {"mode", "resolve", "paths", "collections", "dryRun"};
  return names;
}

void StashCommand::run(OperationContext& op, const Request& request, bson::Builder& reply) {
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
  std::optional<write::Target> pops;
  if (drops_ && !dry_run) pops.emplace(popped_target(op));
  store.catalog().alone(database->name(), op.interrupted(), [&](const auto&) {
    if (!dry_run) end_pops(op, *database);
    PoppedStash popped{.number = number, .commit = {}, .branch = {}};
    {
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
    }
    if (dry_run || !planned.conflicts.empty()) return;
    std::function<void(storage::Transaction&)> also;
    if (pops) also = [&](storage::Transaction& transaction) { put_popped(op, transaction, *pops, *database, popped); };
    write_planned(op, *database, branch, planned, also);
    if (pops) end_pops(op, *database);
  });
  if (!dry_run && !planned.conflicts.empty()) fail_with_conflicts(what, planned.conflicts);
  const bool changes = !planned.plans.empty() || !planned.made.empty() || !planned.dropped.empty();
  reply.append("branch", branch);
  append_count(reply, "stash", static_cast<int64_t>(number));
  reply.append("changed", changes && planned.conflicts.empty());
  append_count(reply, "touchedByBoth", static_cast<int64_t>(planned.touched_by_both));
  if (dry_run) append_conflicts(planned.conflicts, reply);
}

}  // namespace server
