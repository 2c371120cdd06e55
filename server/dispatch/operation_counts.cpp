#include "server/dispatch/operation_counts.h"

#include "server/core/collection_usage.h"
#include "server/core/command.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/retry.h"
#include "storage/engine/names.h"
#include "storage/store.h"

namespace server {
namespace {

using Kind = CollectionUsage::Kind;
using Latency = CollectionUsage::Latency;

constexpr auto interrupted_by_client = static_cast<base::ErrorCode>(279);

Kind kind_of(const Command& command) {
  switch (command.kind()) {
    case OpKind::query: return Kind::query;
    case OpKind::get_more: return Kind::get_more;
    case OpKind::insert: return Kind::insert;
    case OpKind::update: return Kind::update;
    case OpKind::remove: return Kind::remove;
    case OpKind::bulk_write: return Kind::bulk_write;
    case OpKind::command: break;
  }
  if (command.writes()) return Kind::write_command;
  return command.takes_read_concern() ? Kind::read_command : Kind::other_command;
}

// Reads and writes of documents have latencies of their own; everything else counts as a command.
Latency latency_of(const Command& command) {
  if (command.retryable()) return Latency::write;
  return command.kind() == OpKind::get_more || command.takes_read_concern() ? Latency::read : Latency::command;
}

// Returns the number of documents for inserts, of statements for updates and deletes.
int64_t operations_in(const Request& request, OpKind kind) {
  const char* list = kind == OpKind::insert   ? "documents"
                     : kind == OpKind::update ? "updates"
                     : kind == OpKind::remove ? "deletes"
                                              : nullptr;
  if (!list) return 1;
  if (const auto* beside = request.sequence(list)) return static_cast<int64_t>(beside->documents.size());
  const auto inside = request.body.find(list);
  return inside.is_array() ? static_cast<int64_t>(inside.as_document().count()) : 0;
}

void count_ends(const OperationContext& op, const Command& command, base::ErrorCode code, Metrics& metrics) {
  const OperationContext::Counts& counts = op.counts;
  if (counts.returned > 0) metrics.documents.returned.add(counts.returned);
  if (counts.keys_examined > 0) metrics.executor.keys_examined.add(counts.keys_examined);
  if (counts.docs_examined > 0) metrics.executor.documents_examined.add(counts.docs_examined);
  if (op.retry && op.retry->retried() > 0) {
    metrics.retries.commands.add();
    metrics.retries.statements.add(static_cast<int64_t>(op.retry->retried()));
  }
  const bool begins = command.kind() != OpKind::get_more;
  if (counts.scan && begins) metrics.executor.scans.add();
  if (counts.scan && begins && !counts.tailable) metrics.executor.non_tailable_scans.add();
  if (counts.sort && begins) metrics.operation_ends.sorted_in_memory.add();
  if (code == base::ErrorCode::ok) return;
  command.runs.failed.add();
  if (code == base::ErrorCode::max_time_ms_expired) metrics.operation_ends.out_of_time.add();
  if (code == interrupted_by_client) metrics.operation_ends.client_gone.add();
}

// Returns the collection that the name stood for when the operation looked it up.
uint32_t collection_of(const OperationContext& op, std::string_view db, std::string_view name) {
  if (op.counts.collection >= 0) return static_cast<uint32_t>(op.counts.collection);
  if (!op.services().store) return 0;
  return collection_named(op.services().store->catalog(), std::string(db) + "." + std::string(name));
}

void count_use(const OperationContext& op, std::string_view db, std::string_view name, const CollectionUsage::Use& use) {
  const uint32_t collection = collection_of(op, db, name);
  if (collection == OperationContext::Counts::not_there) return;
  CollectionUsage& usage = op.services().usage;
  if (!usage.record(db, name, collection, use)) return;
  usage.forget([&](std::string_view ns) { return collection_named(op.services().store->catalog(), ns); });
}

void count_use(const OperationContext& op, const Command& command, Latency latency, int64_t us) {
  if (by_statement(command.kind())) return;
  const Request& request = op.request();
  const bool reads_on = command.kind() == OpKind::get_more;
  if (!reads_on && !command.may_take_collection()) return;
  const auto name = reads_on ? request.body.find("collection") : request.body.first();
  if (!name.is_string()) return;
  const bool scan = op.counts.scan && !reads_on;
  count_use(op, request.db, name.as_string(), {kind_of(command), latency, us, scan, op.counts.tailable});
}

}  // namespace

void count_operation(const OperationContext& op, const Command* command, base::ErrorCode code, int64_t us) {
  Metrics& metrics = op.services().metrics;
  if (!command) {
    metrics.unknown_commands.add();
    return;
  }
  command->runs.total.add();
  metrics.operation(command->kind()).add(operations_in(op.request(), command->kind()));
  const Latency latency = latency_of(*command);
  (latency == Latency::write ? metrics.writes : latency == Latency::read ? metrics.reads : metrics.commands).record(us);
  count_ends(op, *command, code, metrics);
  count_use(op, *command, latency, us);
}

void count_statement(const OperationContext& op, std::string_view ns, int64_t us) {
  const CollectionUsage::Use use{kind_of(*op.command()), Latency::write, us, op.counts.scan};
  count_use(op, storage::database_of(ns), storage::collection_of(ns), use);
}

}  // namespace server
