#include "server/assembly/status_metrics.h"

#include "base/clock.h"
#include "replication/session_store.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/transaction_registry.h"
#include "server/query/cursor_registry.h"

namespace server {
namespace {

struct Holders {
  int32_t reading = 0, writing = 0, waiting_to_read = 0, waiting_to_write = 0;
};

Holders holders(const OperationRegistry& operations) {
  Holders found;
  operations.visit([&](const OperationContext& op) {
    const auto one = [](const std::atomic<int32_t>& count) { return count.load(std::memory_order_relaxed) > 0 ? 1 : 0; };
    found.reading += one(op.locks.reading);
    found.writing += one(op.locks.writing);
    found.waiting_to_read += one(op.locks.waiting_to_read);
    found.waiting_to_write += one(op.locks.waiting_to_write);
  });
  return found;
}

void append_both(bson::Builder& out, const char* name, int32_t readers, int32_t writers) {
  auto both = out.object(name);
  both.append("total", readers + writers).append("readers", readers).append("writers", writers);
}

// Modes that no operation has asked for are left out.
void append_modes(bson::Builder& out, const char* name, const base::Counter& read, const base::Counter& write) {
  if (read.get() == 0 && write.get() == 0) return;
  auto modes = out.object(name);
  if (read.get() > 0) modes.append("r", read.get());
  if (write.get() > 0) modes.append("w", write.get());
}

void append_commands(const Services& services, bson::Builder& out) {
  auto commands = out.object("commands");
  commands.append("<UNKNOWN>", services.metrics.unknown_commands.get());
  for (const Command* command : services.commands.all()) {
    auto one = commands.object(command->name());
    one.append("failed", command->runs.failed.get()).append("total", command->runs.total.get());
  }
}

void append_cursors(const query::CursorRegistry& cursors, bson::Builder& out) {
  const query::CursorRegistry::Counts counts = cursors.counts();
  auto cursor = out.object("cursor");
  cursor.append("moreThanOneBatch", counts.read_on).append("timedOut", counts.timed_out).append("totalOpened", counts.opened);
  {
    static constexpr const char* names[] = {
        "lessThan1Second", "lessThan5Seconds",  "lessThan15Seconds",          "lessThan30Seconds",
        "lessThan1Minute", "lessThan10Minutes", "greaterThanOrEqual10Minutes"};
    auto lives = cursor.object("lifespan");
    for (size_t i = 0; i < counts.lives.size(); ++i) lives.append(names[i], counts.lives[i]);
  }
  auto open = cursor.object("open");
  open.append("noTimeout", counts.no_timeout).append("pinned", counts.pinned).append("total", counts.open);
}

}  // namespace

void append_global_lock(const Services& services, int64_t begun_us, bson::Builder& out) {
  const Holders now = holders(services.operations);
  out.append("totalTime", services.clock.monotonic_us() - begun_us);
  append_both(out, "currentQueue", now.waiting_to_read, now.waiting_to_write);
  append_both(out, "activeClients", now.reading, now.writing);
}

void append_concurrent(const Services& services, bson::Builder& out) {
  const Holders now = holders(services.operations);
  auto concurrent = out.object("concurrentTransactions");
  concurrent.object("write").append("out", now.writing);
  concurrent.object("read").append("out", now.reading);
}

void append_locks(const Metrics::Locks& locks, bson::Builder& out) {
  {
    // mongod counts an intent lock on the whole server with each lock of a collection. Without that count mongostat takes the
    // section for that of servers before 3.0, and shows other columns.
    auto global = out.object("Global");
    auto modes = global.object("acquireCount");
    modes.append("r", locks.read.acquired.get()).append("w", locks.write.acquired.get());
  }
  auto collection = out.object("Collection");
  append_modes(collection, "acquireCount", locks.read.acquired, locks.write.acquired);
  append_modes(collection, "acquireWaitCount", locks.read.waited, locks.write.waited);
  append_modes(collection, "timeAcquiringMicros", locks.read.waited_us, locks.write.waited_us);
}

void append_transactions(const Services& services, bson::Builder& out) {
  const Metrics::Retries& retries = services.metrics.retries;
  out.append("retriedCommandsCount", retries.commands.get()).append("retriedStatementsCount", retries.statements.get());
  const auto counts = services.transactions ? services.transactions->counts() : TransactionRegistry::Counts();
  out.append("currentActive", counts.active).append("currentInactive", counts.inactive).append("currentOpen", counts.open);
  out.append("totalAborted", counts.aborted).append("totalCommitted", counts.committed).append("totalStarted", counts.started);
  out.append("transactionsCollectionWriteCount", services.session_store ? services.session_store->record_writes() : int64_t{0});
  out.object("lastCommittedTransaction").append("operationCount", counts.last_operations);
  // There are no transactions over several shards.
  for (const char* name : {"totalPrepared", "totalPreparedThenCommitted", "totalPreparedThenAborted", "currentPrepared"})
    out.append(name, int64_t{0});
}

void append_metrics(const Services& services, bson::Builder& out) {
  const Metrics& metrics = services.metrics;
  append_commands(services, out);
  if (services.cursors) append_cursors(*services.cursors, out);
  {
    auto documents = out.object("document");
    documents.append("deleted", metrics.documents.deleted.get()).append("inserted", metrics.documents.inserted.get());
    documents.append("returned", metrics.documents.returned.get()).append("updated", metrics.documents.updated.get());
  }
  {
    auto operation = out.object("operation");
    const Metrics::Operations& ends = metrics.operation_ends;
    operation.append("killedDueToClientDisconnect", ends.client_gone.get())
        .append("killedDueToMaxTimeMSExpired", ends.out_of_time.get());
    operation.append("scanAndOrder", ends.sorted_in_memory.get()).append("writeConflicts", ends.write_conflicts.get());
  }
  {
    auto executor = out.object("queryExecutor");
    executor.append("scanned", metrics.executor.keys_examined.get())
        .append("scannedObjects", metrics.executor.documents_examined.get());
    auto scans = executor.object("collectionScans");
    scans.append("nonTailable", metrics.executor.non_tailable_scans.get()).append("total", metrics.executor.scans.get());
  }
  auto ttl = out.object("ttl");
  ttl.append("deletedDocuments", metrics.ttl.deleted_documents.get()).append("passes", metrics.ttl.passes.get());
}

}  // namespace server
