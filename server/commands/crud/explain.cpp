// explain shows how a command would be run, or was run without its effect.
#include <unistd.h>

#include "base/error.h"
#include "server/commands/crud/explain_writes.h"
#include "server/commands/crud/explainable.h"
#include "server/commands/crud/plan_limits.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/commit_facts.h"
#include "server/core/generic_arguments.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/valid_text.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using query::Verbosity;

Verbosity parse_verbosity(const Request& request) {
  const auto given = Arguments("explain", request.body).string("verbosity");
  if (!given || *given == "allPlansExecution") return Verbosity::all_plans_execution;
  if (*given == "queryPlanner") return Verbosity::query_planner;
  if (*given == "executionStats") return Verbosity::execution_stats;
  throw OperationError(ErrorCode::bad_value,
                       "Enumeration value '" + std::string(*given) + "' for field 'explain.verbosity' is not a valid value.");
}

Request inner_request(const Request& request) {
  const bson::Element command = request.body.first();
  if (!command.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field 'explain.explain' is the wrong type '" +
                                                       std::string(bson::type_name(command.type())) +
                                                       "', expected type 'object'");
  }
  Request inner;
  inner.body = command.as_document();
  inner.command = std::string(inner.body.first().name);
  inner.db = request.db;
  if (const auto db = inner.body["$db"]; db.exists() && (!db.is_string() || db.as_string() != request.db)) {
    throw OperationError(ErrorCode::invalid_namespace, "Mismatched $db in explain command. Expected " + request.db);
  }
  return inner;
}

// The command is shown as it was run: a client may leave the database to the command around it.
void append_command(const Request& inner, bson::Builder& out) {
  auto command = out.object("command");
  command.append_all(inner.body);
  if (!inner.body.has("$db")) command.append("$db", inner.db);
}

}  // namespace

void append_explained(OperationContext& op, const Request& explained, bson::Builder shown, bson::Builder& reply) {
  append_command(explained, shown);
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  {
    auto info = shown.object("serverInfo");
    info.append("host", host).append("port", op.services().options.port).append("version", compatible_version);
    info.append("gitVersion", commit_id());
  }
  {
    auto parameters = shown.object("serverParameters");
    append_plan_limits(op, parameters);
  }
  bson::Document whole = shown.done();
  Held held(op.allowance().memory());
  held.add(whole.size());
  reply.append_all(with_valid_text(std::move(whole)));
}

namespace {

class Explain : public Command {
 public:
  std::string_view name() const override { return "explain"; }
  std::string_view help() const override { return "explain database reads and writes"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"verbosity"};
    return names;
  }
  bool stable_api() const override { return true; }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }
  bool takes_read_concern() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Verbosity verbosity = parse_verbosity(request);
    const Request inner = inner_request(request);
    Command* command = op.services().commands.find(inner.command);
    if (!command) {
      throw OperationError(ErrorCode::command_not_found, "Explain failed due to unknown command: " + inner.command);
    }
    check_known_fields(*command, inner, op.api.strict);
    bson::Builder shown;
    if (auto* explainable = dynamic_cast<Explainable*>(command)) {
      explainable->explain(op, inner, verbosity, shown);
    } else if (!explain_write(op, inner, command->name(), verbosity, shown)) {
      throw OperationError(ErrorCode::illegal_operation, "Cannot explain cmd: " + inner.command);
    }
    append_explained(op, inner, std::move(shown), reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_explain_command() {
  return std::make_unique<Explain>();
}

}  // namespace server
