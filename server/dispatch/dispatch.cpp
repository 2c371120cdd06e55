#include "server/dispatch/dispatch.h"

#include <new>

#include "base/clock.h"
#include "base/log.h"
#include "bson/json.h"
#include "replication/committer.h"
#include "server/core/audit.h"
#include "server/core/client.h"
#include "server/core/command_registry.h"
#include "server/core/fail_points.h"
#include "server/core/generic_arguments.h"
#include "server/core/metrics.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/redaction.h"
#include "server/core/reply_size.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/transaction_registry.h"
#include "server/core/valid_text.h"
#include "server/dispatch/audited.h"
#include "server/dispatch/authorize.h"
#include "server/dispatch/fail_command.h"
#include "server/dispatch/operation_counts.h"
#include "server/dispatch/profiler.h"
#include "server/dispatch/set_rules.h"
#include "server/dispatch/transaction_rules.h"
#include "server/query/cursor_registry.h"
#include "server/write/retry.h"
#include "server/write/write_errors.h"
#include "storage/engine/interruptible_waits.h"

namespace server {

using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;

namespace {

constexpr size_t logged_field_bytes_max = 2048;

bson::Document error_reply(ErrorCode code, const std::string& message, bson::DocumentView details) {
  bson::Builder reply;
  reply.append("ok", 0.0)
      .append("errmsg", valid_text(message))
      .append("code", static_cast<int32_t>(code))
      .append("codeName", base::code_name(code));
  reply.append_all(with_valid_text(bson::Document(details)));
  return reply.done();
}

// Shows the command as a log line has room for it: long fields by their size alone.
std::string command_json(bson::DocumentView body) {
  std::string text = "{";
  for (const auto& field : body) {
    if (text.size() > 1) text += ',';
    text += base::json_quote(field.name) + ":";
    if (field.bytes().size() > logged_field_bytes_max) {
      text += base::json_quote("<" + std::to_string(field.bytes().size()) + " bytes>");
    } else {
      text += bson::to_json(field);
    }
  }
  return text + "}";
}

void add_count(base::Attributes& attributes, std::string_view name, int64_t value) {
  if (value >= 0) attributes.add(name, value);
}

// Returns whether a writeConcern says j: true, before anything is checked.
bool wants_journal(const Request& request) {
  const auto concern = request.body.find("writeConcern");
  return concern.is_object() && concern.as_document().find("j").truthy();
}

}  // namespace

int64_t Dispatcher::await_topology_ms(const Client& client, const Request& request) const {
  const Command* command = services_.commands.find(request.command);
  const int64_t ms = command ? command->await_topology_ms(services_, request) : 0;
  // A request that a fail point lets fail does so before it waits.
  if (ms > 0 && services_.fail_points.any() && would_fail(services_.fail_points, client, request, *command)) return 0;
  return ms;
}

Dispatcher::Reply Dispatcher::run(Client& client, const Request& request, bool exhaust_allowed, bson::Bytes memory,
                                  std::optional<OperationContext::Time> parked_until) {
  base::LogContext context(client.description());
  Command* command = services_.commands.find(request.command);
  auto held = std::make_unique<OperationContext>(services_, client, request, command);
  OperationContext& op = *held;
  op.exhaust_allowed = exhaust_allowed;
  op.parked_until = parked_until;
  op.explain_wanted = services_.profiler.watches(request.db);
  Reply reply;
  ErrorCode code = ErrorCode::ok;
  std::string message;
  bson::Document details;
  CommandFault fault;
  bool began = false;
  std::unique_ptr<TransactionHold> transaction;
  std::optional<Audit::Working> working;
  if (services_.audit) [[unlikely]]
    working.emplace(client);
  const base::Interrupted interrupted = op.interrupted();
  try {
    const storage::InterruptibleWaits waits(&interrupted);
    bson::Builder body(std::move(memory));
    run_checked(op, command, fault, began, transaction, body);
    body.append("ok", 1.0);
    append_times(op, body);
    reply.body = body.done();
    check_document_size(reply.body.size(), reply_bytes_max);
    reply.ok = true;
    if (op.parked) {
      reply.parked = std::move(op.parked);
      return reply;
    }
    reply.acknowledgement = acknowledgement(op, *command);
    reply.await_durable = !services_.replica_set && op.write_concern.journal && wants_journal(request);
    reply.next_invocation = std::move(op.next_invocation);
  } catch (const OperationError& error) {
    code = error.code();
    if (auto shown = without_hidden_key(op, error)) {
      message = std::move(*shown);
    } else {
      write::ErrorRoom::Shown all = write::ErrorRoom().take(error);
      message = std::move(all.message);
      details = std::move(all.details);
    }
  } catch (const TransientTransactionError& error) {
    code = error.code();
    message = error.what();
  } catch (const storage::WriteConflict& conflict) {  // of what is not run again: a read that the engine gave up, say
    code = ErrorCode::write_conflict;
    message = conflict.what();
  } catch (const std::bad_alloc&) {
    code = ErrorCode::exceeded_memory_limit;
    message = "out of memory";
  } catch (const std::exception& error) {
    code = ErrorCode::internal_error;
    message = error.what();
    base::log(Severity::error, LogComponent::command, 9200001, "Command failed unexpectedly",
              base::Attributes().add("command", request.command).add("error", services_.redacts_log ? redacted : error.what()));
  }
  if (!reply.ok && !op.error_context.empty()) message = std::string(op.error_context) + " :: caused by :: " + message;
  if (transaction) abort_after_error(*transaction, !reply.ok, reply.body);
  // A parked getMore that fails before it takes its cursor leaves it to others, and so does one that can't be parked.
  if (!reply.ok && (parked_until || op.parked) && services_.cursors) services_.cursors->unpark(request.body.first().to_int64());
  if (!reply.ok) {
    services_.metrics.asserts.user.add();
    bson::Builder more;
    more.append_all(details);
    if (!fault.labels)
      append_labels(op, command, code, false, more);
    else if (!fault.labels->view().as_document().empty())
      more.append_array("errorLabels", fault.labels->view().as_document());
    append_topology(services_, code, more);
    append_times(op, more);
    reply.body = error_reply(code, message, more.done());
    if (began) reply.acknowledgement = acknowledgement_of_failure(op, *command, code);
    if (base::log_enabled(Severity::debug1, LogComponent::command)) {
      base::log(Severity::debug1, LogComponent::command, 21962, "Assertion while executing command",
                base::Attributes()
                    .add("command", request.command)
                    .add("db", request.db)
                    .add("error", services_.redacts_log ? redacted : message));
    }
  }
  if (reply.ok) reply.body = fail_after(op, *command, std::move(reply.body));
  if (services_.audit && command) [[unlikely]]
    audit_command(*services_.audit, op, *command, code);
  reply.close_connection = op.close_connection;
  const int64_t us = op.elapsed_us();
  count_operation(op, command, code, us);
  op.retry.reset();
  const bool shown = !command || !command->sensitive(request);
  bson::Document hidden;
  if (shown && has_secrets(request)) hidden = without_secrets(request);
  const bson::DocumentView body = !shown ? bson::DocumentView() : hidden.empty() ? request.body : hidden.view();
  const OperationEnd end{command, {}, body, code, message, static_cast<int64_t>(reply.body.size()), us};
  log_slow(op, command, reply, us / 1000, services_.profiler.finish(op, end));
  if (reply.acknowledgement) {
    transaction.reset();
    op.rest();
    reply.acknowledgement->operation = std::move(held);
  }
  return reply;
}

namespace {

// With access control, sessions belong to users: a client that hasn't logged in would fill the place that they have.
void forget_session(OperationContext& op) {
  op.lsid = {};
  op.txn_number.reset();
  op.in_transaction = op.starts_transaction = false;
}

}  // namespace

void Dispatcher::run_checked(OperationContext& op, Command* command, CommandFault& fault, bool& began,
                             std::unique_ptr<TransactionHold>& transaction, bson::Builder& reply) {
  const Request& request = op.request();
  if (!command) throw OperationError(ErrorCode::command_not_found, "no such command: '" + request.command + "'");
  if (!valid_database_name(request.db))
    throw OperationError(ErrorCode::invalid_namespace, "Invalid database name: '" + request.db + "'");
  if (request.body.find("help").truthy()) {
    reply.append("help", "help for: " + std::string(command->name()) + " " + std::string(command->help()));
    return;
  }
  if (command->admin_only() && request.db != "admin") {
    throw OperationError(ErrorCode::unauthorized, std::string(command->name()) + " may only be run against the admin database.");
  }
  authorize(op, *command);
  apply_generic_arguments(op, *command);
  const bool stranger = services_.options.authorization && !op.client().authority();
  if (stranger) forget_session(op);
  check_known_fields(*command, request, op.api.strict);
  if (command->takes_collection()) request.collection();
  fail_before(op, *command, fault);
  op.check_interrupt();
  if (op.lsid.is_object()) services_.sessions.use(session_key(op.lsid.as_document(), op.client()), services_.clock.wall_ms());
  if (!stranger) learn_cluster_time(op);
  check_member(op, *command);
  await_read_concern(op);
  transaction = enter_transaction(op, *command);
  begin_read(op);
  begin_retryable(op, *command);
  if (command->writes()) op.begin_writing(replication::has_history(request.db));
  began = true;
  command->run(op, request, reply);
}

void Dispatcher::log_slow(const OperationContext& op, const Command* command, const Reply& reply, int64_t elapsed_ms,
                          bool wanted) const {
  const bool verbose = base::log_enabled(Severity::debug1, LogComponent::command);
  // An awaited hello or a blocking getMore isn't slow: its client asked it to wait.
  const bool slow = wanted && (!command || command->await_topology_ms(services_, op.request()) == 0);
  if (!verbose && !slow) return;
  base::Attributes attributes;
  attributes.add("type", "command").add("ns", shown_namespace(op.request(), command));
  if (const auto metadata = op.client().metadata(); metadata && !metadata->app_name.empty())
    attributes.add("appName", metadata->app_name);
  const bool redacts = services_.redacts_log.load(std::memory_order_relaxed);
  if (command && command->sensitive(op.request())) {
    attributes.add("command", op.request().command);
  } else if (redacts) {
    attributes.json("command", redacted_json(op.request().body));
  } else if (has_secrets(op.request())) {
    attributes.json("command", command_json(without_secrets(op.request())));
  } else {
    attributes.json("command", command_json(op.request().body));
  }
  if (const auto summary = op.plan_summary(); !summary.empty()) attributes.add("planSummary", summary);
  if (op.counts.cursor_id != 0) attributes.add("cursorid", op.counts.cursor_id);
  add_count(attributes, "keysExamined", op.counts.keys_examined);
  add_count(attributes, "docsExamined", op.counts.docs_examined);
  add_count(attributes, "nMatched", op.counts.matched);
  add_count(attributes, "nModified", op.counts.modified);
  add_count(attributes, "ninserted", op.counts.inserted);
  add_count(attributes, "ndeleted", op.counts.deleted);
  if (op.counts.write_conflicts > 0) attributes.add("writeConflicts", op.counts.write_conflicts);
  add_count(attributes, "nreturned", op.counts.returned);
  attributes.add("reslen", static_cast<int64_t>(reply.body.size()));
  if (!reply.ok) {
    attributes.add("ok", 0)
        .add("errMsg", redacts ? redacted : reply.body.find("errmsg").as_string())
        .add("errName", reply.body.find("codeName").as_string());
    attributes.add("errCode", reply.body.find("code").as_int32());
  }
  attributes.add("remote", op.client().remote()).add("protocol", "op_msg").add("durationMillis", elapsed_ms);
  base::log(Severity::info, LogComponent::command, 51803, "Slow query", attributes);
}

}  // namespace server
