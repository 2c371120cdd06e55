// retention, sweep and purge: what goes from history.
#include "server/commands/shared/branches.h"
#include "server/commands/shared/id_argument.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/scale.h"
#include "server/core/services.h"
#include "server/write/batch.h"
#include "server/write/branch_sweeper.h"
#include "server/write/keep_for_log.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class RetentionCommand : public Command {
 public:
  std::string_view name() const override { return "retention"; }
  std::string_view help() const override {
    return "which commits of the database stay, or are to from now on\n"
           "{ retention: 1 } or { retention: { newest: <so many of each branch>, youngerThanSeconds: <number> } }\n"
           "A commit stays for either reason, and where it is a branch's last, tagged, waits to be merged or has lines part at "
           "it. {}: all stay.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    std::optional<versions::RetentionPolicy> given;
    if (!arguments.any("retention").is_number()) given = policy(arguments.required_object("retention"));
    const auto database = branched(op, request);
    const versions::RetentionPolicy now = write::in_transaction(op, [&](storage::Transaction& transaction) {
      if (given) database->set_retention(transaction, *given);
      return database->retention(transaction);
    });
    if (now.newest) append_count(reply, "newest", static_cast<int64_t>(*now.newest));
    if (now.age_ms) append_count(reply, "youngerThanSeconds", *now.age_ms / 1000);
  }

 private:
  static versions::RetentionPolicy policy(bson::DocumentView given) {
    const Arguments arguments("retention.retention", given);
    arguments.only({"newest", "youngerThanSeconds"});
    versions::RetentionPolicy policy;
    const auto at_least_one = [&](std::string_view name, int64_t max) -> std::optional<int64_t> {
      const auto number = arguments.integer(name);
      if (number && (*number < 1 || *number > max))
        throw OperationError(ErrorCode::bad_value, "'" + std::string(name) + "' must be from 1 to " + std::to_string(max));
      return number;
    };
    if (const auto newest = at_least_one("newest", INT64_MAX)) policy.newest = static_cast<uint64_t>(*newest);
    if (const auto seconds = at_least_one("youngerThanSeconds", INT64_MAX / 1'000'000)) policy.age_ms = *seconds * 1000;
    return policy;
  }
};

class Sweep : public Command {
 public:
  std::string_view name() const override { return "sweep"; }
  std::string_view help() const override {
    return "drop the commits that need not stay, now; what they alone show is freed\n{ sweep: 1 }\nWithout it that happens in "
           "the background.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto database = branched(op, request);
    const versions::Branches::Swept swept = write::sweep(op, *database);
    write::free_nodes(op, *database);
    append_count(reply, "commits", static_cast<int64_t>(swept.commits));
    append_count(reply, "versions", static_cast<int64_t>(swept.records));
  }
};

class Purge : public Command {
 public:
  std::string_view name() const override { return "purge"; }
  std::string_view help() const override {
    return "erase a document from all branches, commits and snapshots\n{ purge: <collection>, _id: <value> }\nCommits keep their "
           "ids; the log keeps its entries until it is cut. There is no way back.";
  }
  bool takes_collection() const override { return true; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"_id", "id"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bson::ValueView id = id_argument(arguments);
    if (versions::split_name(request.db).ref) branched(op, request);  // it is a branch's
    write::store_of(op);
    const uint64_t count = op.services().databases->purge(database_of(request), request.collection(), id, write::keep_for_log(op),
                                                          [&](const auto& work) { return write::in_transaction(op, work); });
    append_count(reply, "versions", static_cast<int64_t>(count));
  }
};

}  // namespace

std::unique_ptr<Command> make_retention_command() {
  return std::make_unique<RetentionCommand>();
}
std::unique_ptr<Command> make_sweep_command() {
  return std::make_unique<Sweep>();
}
std::unique_ptr<Command> make_purge_command() {
  return std::make_unique<Purge>();
}

}  // namespace server
