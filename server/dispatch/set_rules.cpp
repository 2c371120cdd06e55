#include "server/dispatch/set_rules.h"

#include <algorithm>

#include "base/clock.h"
#include "bson/json.h"
#include "replication/committer.h"
#include "replication/coordinator.h"
#include "server/core/cluster_time.h"
#include "server/core/default_concerns.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/topology.h"
#include "server/core/transaction_registry.h"
#include "server/query/cursor_registry.h"
#include "server/write/retry.h"
#include "server/write/target.h"
#include "storage/engine/transaction.h"
#include "storage/store.h"
#include "versions/past/past.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using replication::MemberState;
using replication::timestamp_of;
using storage::Stamp;

namespace {

constexpr int64_t drift_seconds_max = 365LL * 24 * 60 * 60;  // maxAcceptableLogicalClockDriftSecs
constexpr auto wait_step_min = std::chrono::milliseconds(1), wait_step_max = std::chrono::milliseconds(10);

// Returns whether everything up to `time` can be read here.
bool reached(const Services& services, Stamp time) {
  if (services.replica_set->writable()) return services.store->engine().all_committed() > time;
  return services.oplog->newest().optime.ts >= time;
}

// A client that doesn't say how many members gets the set's default, or, as since MongoDB 5.0, the majority.
void apply_default(const OperationContext& op, replication::WriteConcern& concern) {
  const auto defaults = op.services().default_concerns ? op.services().default_concerns->current() : nullptr;
  if (!defaults || !defaults->write) {
    concern.mode = "majority";
  } else if (!op.write_concern.given) {
    concern = *defaults->write;
  } else {
    concern.members = defaults->write->members;
    concern.mode = defaults->write->mode;
    concern.tags = defaults->write->tags;
  }
}

std::string shown(bson::Timestamp time) {
  return "{ ts: Timestamp(" + std::to_string(time.seconds) + ", " + std::to_string(time.increment) + ") }";
}

void await(OperationContext& op, const std::function<bool()>& here) {
  for (auto step = wait_step_min; !here(); step = std::min(step * 2, wait_step_max)) op.sleep(step);
}

void check_has_come(const OperationContext& op, std::string_view name, Stamp wanted) {
  const Stamp now = cluster_time(op.services());
  if (wanted <= now) return;
  throw OperationError(ErrorCode::invalid_options,
                       "readConcern " + std::string(name) +
                           " value must not be greater than the current clusterTime. Requested clusterTime: " +
                           shown(timestamp_of(wanted)) + "; current clusterTime: " + shown(timestamp_of(now)));
}

// Returns the storage snapshot of a moment that a read was answered at not long ago, or a declared snapshot that is
// majority-committed.
ReadMoment moment_at(OperationContext& op, Stamp time) {
  write::store_of(op);
  const Services& services = op.services();
  if (auto kept = services.cursors->snapshots.find(time)) return {time, std::move(kept)};
  check_has_come(op, "atClusterTime", time);
  const bool in_set = in_initiated_set(services);
  // A snapshot's log entry comes right after its timestamp.
  if (in_set) await(op, [&] { return reached(services, time); });
  const auto declared = services.past->snapshots().at(time);
  if (!declared) {
    throw OperationError(
        ErrorCode::snapshot_too_old,
        "Read timestamp " + shown(timestamp_of(time)) +
            " is neither a declared snapshot's nor one that a read was answered at in the last minutes; others are not kept");
  }
  if (in_set) await(op, [&] { return services.replica_set->progress().committed.optime.ts >= time; });
  return {time, nullptr, declared->number};
}

// Returns whether the command takes effect once, however often it is sent.
bool may_be_sent_again(const OperationContext& op, const Command& command) {
  return op.txn_number && (op.in_transaction ? command.ends_transaction() : command.retryable());
}

// Returns whether a driver may open a change stream again after this error, where it was.
bool stream_can_resume_after(ErrorCode code) {
  static constexpr int32_t codes[] = {6, 7, 63, 89, 91, 133, 150, 189, 234, 262, 9001, 10107, 11600, 11602, 13388, 13435, 13436};
  return std::find(std::begin(codes), std::end(codes), static_cast<int32_t>(code)) != std::end(codes);
}

// Returns whether the read preference lets other members than the primary answer.
bool opted_in(const Request& request) {
  const auto preference = request.body.find("$readPreference");
  if (!preference.is_object()) return false;
  const auto mode = preference.as_document().find("mode");
  return mode.is_string() && mode.as_string() != "primary";
}

}  // namespace

void learn_cluster_time(OperationContext& op) {
  const auto given = op.request().body.find("$clusterTime");
  if (!given.exists() || !in_initiated_set(op.services())) return;
  if (!given.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "\"$clusterTime\" had the wrong type. Expected object, found " +
                                                       std::string(bson::type_name(given.type())));
  }
  const auto time = given.as_document().find("clusterTime");
  if (!time.exists()) throw OperationError(ErrorCode::no_such_key, "Missing expected field \"clusterTime\"");
  if (time.type() != bson::Type::timestamp) {
    throw OperationError(ErrorCode::type_mismatch, "\"clusterTime\" had the wrong type. Expected timestamp, found " +
                                                       std::string(bson::type_name(time.type())));
  }
  const bson::Timestamp wanted = time.as_timestamp();
  const int64_t now = op.services().clock.wall_ms() / 1000;
  if (wanted.seconds > now + drift_seconds_max) {
    throw OperationError(ErrorCode::cluster_time_fails_rate_limiter, "New cluster time, " + std::to_string(wanted.seconds) +
                                                                         ", is too far from this node's wall clock time, " +
                                                                         std::to_string(now) + ".");
  }
  const Stamp given_time = replication::stamp_of(wanted);
  op.services().replica_set->learn_time(given_time);
  // A secondary's time follows the entries that it applies; a primary's next entry must come after the given time.
  storage::Store& store = *op.services().store;
  if (op.services().replica_set->writable() && given_time > store.engine().last_stamp()) store.engine().raise_stamp(given_time);
}

void begin_read(OperationContext& op) {
  // A transaction's reads are majority-committed once its commit is.
  if (!in_initiated_set(op.services()) || !op.read_concern.majority_committed() || op.in_transaction) return;
  const replication::Standing now = op.services().replica_set->standing();
  if (now.state == MemberState::primary) op.led_term = now.term;
}

void check_member(const OperationContext& op, const Command& command) {
  replication::Coordinator* set = op.services().replica_set;
  if (!set) return;
  const MemberState state = set->state();
  if (state == MemberState::primary) return;
  if (op.in_transaction) throw OperationError(ErrorCode::not_writable_primary, "not primary");
  // Databases that belong to this member alone can always be written.
  if (command.writes() && op.request().db == "local") return;
  const auto rule = command.on_secondary();
  if (rule == Command::OnSecondary::never) throw OperationError(ErrorCode::not_writable_primary, "not primary");
  if (rule == Command::OnSecondary::opted_in) {
    if (!opted_in(op.request())) {
      throw OperationError(ErrorCode::not_primary_no_secondary_ok, "not primary and secondaryOk=false");
    }
    if (state != MemberState::secondary) {
      throw OperationError(ErrorCode::not_primary_or_secondary, "node is not in primary or recovering state");
    }
  }
}

void await_read_concern(OperationContext& op) {
  const ReadConcern& concern = op.read_concern;
  if (concern.at_cluster_time) {
    op.moment = moment_at(op, replication::stamp_of(*concern.at_cluster_time));
    return;
  }
  if (!in_initiated_set(op.services())) return;
  if (concern.level == "linearizable" && op.services().replica_set->state() != MemberState::primary) {
    throw OperationError(ErrorCode::not_writable_primary, "cannot satisfy linearizable read concern on non-primary node");
  }
  const bool snapshot = concern.level == "snapshot" && !op.in_transaction;  // a transaction's draft is a snapshot
  const auto take = [&] {
    auto newest = op.services().cursors->snapshots.newest(*op.services().store, op.services().clock.wall_ms());
    op.moment = ReadMoment{newest->stamp, std::move(newest)};
  };
  if (snapshot) take();
  if (!concern.after_cluster_time) return;
  const Stamp wanted = replication::stamp_of(*concern.after_cluster_time);
  check_has_come(op, "afterClusterTime", wanted);
  await(op, [&] {
    if (!snapshot) return reached(op.services(), wanted);
    if (op.moment->stamp < wanted) take();
    return op.moment->stamp >= wanted;
  });
}

void begin_retryable(OperationContext& op, const Command& command) {
  if (!op.txn_number || !op.services().session_store || op.in_transaction) return;
  if (!command.retryable()) {
    throw OperationError(50768,
                         "txnNumber may only be provided for multi-document transactions and retryable write commands. "
                         "autocommit:false was not provided, and " +
                             std::string(command.name()) + " is not a retryable write command.");
  }
  const auto collection = op.request().body.first();
  if (collection.is_string()) write::check_retryable(op.request().db + "." + std::string(collection.as_string()));
  if (!replication::has_history(op.request().db)) return;  // nor does the log have entries of it
  const bson::Bytes session = session_key(op.lsid.as_document(), op.client());
  op.services().transactions->passed(op, session, *op.txn_number);
  auto history = op.services().session_store->check_out(session, *op.txn_number, op.interrupted());
  if (history->committed_transaction()) {
    throw OperationError(ErrorCode::invalid_options,
                         "Must specify autocommit=false on all operations of a multi-statement transaction.");
  }
  op.retry = std::make_unique<write::Retry>(op, std::move(history));
}

std::optional<Dispatcher::Reply::Acknowledgement> acknowledgement(const OperationContext& op, const Command& command) {
  const Services& services = op.services();
  if (!in_initiated_set(services) || (op.in_transaction && !command.ends_transaction())) return std::nullopt;
  Dispatcher::Reply::Acknowledgement asked;
  asked.retryable = may_be_sent_again(op, command);
  const bool wrote = command.writes() || op.last_write != 0 || op.write_concern.given;
  if (wrote) {
    if (op.request().db == "local") return std::nullopt;
    asked.concern = op.write_concern;
    if (!op.write_concern.w_given) apply_default(op, asked.concern);
    if (asked.concern.mode.empty() && asked.concern.tags.empty() && asked.concern.members == 0 && !asked.concern.journal)
      return std::nullopt;
  } else if (op.read_concern.majority_committed()) {
    // A read shows what is here; its reply leaves once that is majority-committed.
    asked.read = true;
    // If another primary takes over, this one's data may be rolled back, and is stale.
    asked.led_term = op.led_term;
  } else {
    return std::nullopt;
  }
  asked.optime = op.last_write != 0 ? replication::OpTime{op.last_write, services.replica_set->standing().term}
                                    : services.replica_set->progress().applied.optime;
  return asked;
}

std::optional<Dispatcher::Reply::Acknowledgement> acknowledgement_of_failure(const OperationContext& op, const Command& command,
                                                                             ErrorCode code) {
  // An operation that was interrupted, or whose member no longer leads, has nothing to wait for.
  static constexpr int32_t ends[] = {50, 91, 189, 262, 279, 10058, 10107, 11600, 11601, 11602, 13435, 13436};
  if (std::find(std::begin(ends), std::end(ends), static_cast<int32_t>(code)) != std::end(ends)) return std::nullopt;
  if (op.last_write == 0 && !op.write_concern.given) return std::nullopt;
  auto asked = acknowledgement(op, command);
  if (asked) asked->retryable = false;  // the command's own error decides
  return asked;
}

void append_times(const OperationContext& op, bson::Builder& reply) {
  const Services& services = op.services();
  if (!in_initiated_set(services)) return;
  const Stamp time = cluster_time(services);
  {
    auto cluster = reply.object("$clusterTime");
    cluster.append("clusterTime", timestamp_of(time));
    auto signature = cluster.object("signature");
    static const bson::Bytes none(20, '\0');
    signature.append("hash", bson::Binary{0, none}).append("keyId", int64_t{0});
  }
  Stamp operation = op.last_write;
  if (operation == 0) operation = services.oplog->newest().optime.ts;
  reply.append("operationTime", timestamp_of(operation));
}

bool can_retry_after(ErrorCode code) {
  static constexpr int32_t codes[] = {6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436};
  return std::find(std::begin(codes), std::end(codes), static_cast<int32_t>(code)) != std::end(codes);
}

namespace {

// Returns whether the whole transaction may be run again after this error.
bool is_transient(ErrorCode code, bool ends_transaction) {
  constexpr auto prepared_transaction_in_progress = static_cast<ErrorCode>(267);  // a fail point may ask for it
  if (code == prepared_transaction_in_progress || code == ErrorCode::write_conflict || code == ErrorCode::lock_timeout ||
      code == ErrorCode::snapshot_unavailable || code == ErrorCode::snapshot_too_old || code == ErrorCode::no_such_transaction)
    return true;
  // After the other errors nobody knows whether a commit took effect.
  return !ends_transaction && can_retry_after(code);
}

}  // namespace

void append_labels(const OperationContext& op, const Command* command, ErrorCode code, bool of_write_concern,
                   bson::Builder& reply) {
  if (!op.services().replica_set || !command) return;
  const bool resumable = op.change_stream && stream_can_resume_after(code);
  const bool fatal = code == ErrorCode::change_stream_fatal_error || code == ErrorCode::change_stream_history_lost;
  if (!op.txn_number && !resumable && !fatal) return;
  const bool transient = op.in_transaction && !of_write_concern && is_transient(code, command->ends_transaction());
  const bool retryable = may_be_sent_again(op, *command) && can_retry_after(code);
  if (!transient && !retryable && !resumable && !fatal) return;
  auto labels = reply.array("errorLabels");
  if (retryable) labels.append("RetryableWriteError");
  if (transient) labels.append("TransientTransactionError");
  if (fatal) labels.append("NonResumableChangeStreamError");
  if (resumable) labels.append("ResumableChangeStreamError");
}

void append_topology(const Services& services, ErrorCode code, bson::Builder& reply) {
  // Errors of a shutdown are not among them: the topology hasn't changed yet, and a driver takes an error whose version it knows
  // for an old one.
  static constexpr int32_t codes[] = {189, 10058, 10107, 11602, 13435, 13436};
  if (!services.replica_set || std::find(std::begin(codes), std::end(codes), static_cast<int32_t>(code)) == std::end(codes))
    return;
  // The state that led to the error may have been visible before the counter that belongs to it; both are under one lock, which
  // this call takes. With the older counter a driver would take this error for an old one, and retry at once.
  services.replica_set->standing();
  auto version = reply.object("topologyVersion");
  version.append("processId", services.topology.process_id()).append("counter", services.topology.counter());
}

bson::Document failed_read(const Services& services, const replication::WriteConcernFailure& why) {
  bson::Builder reply;
  reply.append("ok", 0.0)
      .append("errmsg", why.message)
      .append("code", static_cast<int32_t>(why.code))
      .append("codeName", base::code_name(why.code));
  append_topology(services, why.code, reply);
  return reply.done();
}

bson::Document with_write_concern_error(const Services& services, bson::DocumentView reply,
                                        const Dispatcher::Reply::Acknowledgement& asked,
                                        const replication::WriteConcernFailure& failure) {
  bson::Builder out;
  for (const auto& field : reply) {
    if (field.name == "ok") {
      auto error = out.object("writeConcernError");
      error.append("code", static_cast<int32_t>(failure.code))
          .append("codeName", base::code_name(failure.code))
          .append("errmsg", failure.message);
      auto info = error.object("errInfo");
      if (failure.code == ErrorCode::write_concern_failed) info.append("wtimeout", true);
      auto concern = info.object("writeConcern");
      if (!asked.concern.mode.empty())
        concern.append("w", asked.concern.mode);
      else if (!asked.concern.tags.empty())
        concern.append("w", asked.concern.tags);
      else
        concern.append("w", static_cast<int32_t>(asked.concern.members));
      if (asked.concern.journal) concern.append("j", true);
      concern.append("wtimeout", static_cast<int32_t>(asked.concern.timeout_ms)).append("provenance", "clientSupplied");
    }
    if (field.name == "ok" && asked.retryable && can_retry_after(failure.code)) {
      auto labels = out.array("errorLabels");
      labels.append("RetryableWriteError");
    }
    if (field.name == "ok") append_topology(services, failure.code, out);
    out.append_element(field);
  }
  return out.done();
}

}  // namespace server
