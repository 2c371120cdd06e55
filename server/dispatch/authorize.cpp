#include "server/dispatch/authorize.h"

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "server/core/audit.h"
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/redaction.h"
#include "server/core/services.h"
#include "server/dispatch/rules/rules.h"
#include "server/users/login.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr size_t shown_bytes_max = 4096;

std::string shown(const OperationContext& op, const Command& command) {
  const Request& request = op.request();
  if (command.sensitive(request)) return "{ " + request.command + ": \"xxx\" }";
  std::string text = has_secrets(request) ? bson::to_shell(without_secrets(request).view()) : bson::to_shell(request.body);
  if (text.size() > shown_bytes_max) text = text.substr(0, shown_bytes_max) + "...";
  return text;
}

[[noreturn]] void refuse(OperationContext& op, const Command& command, const std::string& message) {
  if (Audit* audit = op.services().audit) {
    bson::Builder param;
    param.append("command", command.name()).append("ns", shown_namespace(op.request(), &command));
    if (!command.sensitive(op.request())) param.append("args", without_secrets(op.request()));
    audit->record("authCheck", &op.client(), param.done(), ErrorCode::unauthorized);
  }
  throw OperationError(ErrorCode::unauthorized, message);
}

}  // namespace

void authorize(OperationContext& op, const Command& command) {
  users::Logins* logins = op.services().logins;
  if (!logins) return;
  logins->refresh(op.client());
  if (!op.services().options.authorization || command.before_auth()) return;
  access::AuthorityPtr authority = op.client().authority();
  if (!authority) {
    const replication::Coordinator* set = op.services().replica_set;
    authority = logins->without_login(op.client(), set && set->state() == replication::MemberState::arbiter);
  }
  if (!authority) refuse(op, command, "Command " + std::string(command.name()) + " requires authentication");
  const rules::Rule rule = rules::rule_of(command.name());
  const rules::Asker asker(*authority, op.request());
  if (rule && rule(asker)) return;
  refuse(op, command, "not authorized on " + op.request().db + " to execute command " + shown(op, command));
}

bool may_still_run(const OperationContext& op, std::string_view db, bson::DocumentView body) {
  if (!op.services().logins || !op.services().options.authorization) return true;
  const access::AuthorityPtr authority = op.client().authority();
  if (!authority || body.empty()) return false;
  Request request;
  request.command = body.first().name;
  request.db = db;
  request.body = body;
  const Command* command = op.services().commands.find(request.command);
  const rules::Rule rule = command ? rules::rule_of(command->name()) : nullptr;
  return rule && rule(rules::Asker(*authority, request));
}

std::optional<std::string> without_hidden_key(const OperationContext& op, const OperationError& error) {
  constexpr std::string_view begin = "E11000 duplicate key error collection: ";
  const std::string_view text = error.what();
  if (!op.services().options.authorization || error.code() != ErrorCode::duplicate_key || !text.starts_with(begin))
    return std::nullopt;
  const std::string_view ns = text.substr(begin.size(), text.find(" index: ", begin.size()) - begin.size());
  const access::AuthorityPtr authority = op.client().authority();
  if (ns.substr(0, ns.find('.')) == op.request().db ||
      (authority && rules::Asker(*authority, op.request()).ns(ns, {access::Action::find})))
    return std::nullopt;
  return std::string(begin) + "one of a branch that the user may not read";
}

void check_rules(const Services& services) {
  std::string_view missing;
  const std::vector<const Command*> all = services.commands.all();
  if (!rules::complete(all, missing))
    throw OperationError(ErrorCode::internal_error, "the command " + std::string(missing) + " has no rule who may run it");
}

}  // namespace server
