#include "server/query/operation_view.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/log.h"
#include "server/core/client_view.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/shown_command.h"
#include "server/core/transaction_registry.h"
#include "server/core/valid_text.h"
#include "server/query/cursor_registry.h"

namespace server {
namespace {

void append_command(bson::Builder& out, const OperationContext& op, bool whole) {
  auto shown = out.object("command");
  const Request& request = op.request();
  if (op.command() && op.command()->sensitive(request))
    shown.append(request.command, 1);
  else
    append_shown(shown, request, whole);
}

void append_progress(bson::Builder& out, const Progress& progress) {
  if (progress.total == 0) return;
  const std::string done = std::to_string(progress.done) + "/" + std::to_string(progress.total);
  out.append("msg", progress.what + ": " + done + " " + std::to_string(progress.done * 100 / progress.total) + "%");
  out.object("progress").append("done", progress.done).append("total", progress.total);
}

bson::Builder begin(const Client& client, const std::string& host, bool active, int64_t now_ms) {
  bson::Builder out;
  out.append("type", "op").append("host", host).append("desc", client.description());
  append_client(out, client);
  out.append("isFromUserConnection", client.id() != ClientId{0});
  out.append("active", active).append("currentOpTime", base::iso_date(now_ms));
  return out;
}

void append_locks(bson::Builder& out, const OperationContext::Locks& held) {
  const auto some = [](const std::atomic<int32_t>& count) { return count.load(std::memory_order_relaxed) > 0; };
  const bool reads = some(held.reading), writes = some(held.writing);
  {
    auto locks = out.object("locks");
    if (reads || writes) locks.append("Collection", writes ? "w" : "r");
  }
  out.append("waitingForLock", some(held.waiting_to_read) || some(held.waiting_to_write));
}

// currentOp shows these of open transactions: a part for each that an operation works in, and the whole entries of the others.
struct Transactions {
  std::map<int32_t, bson::Document> of_operations;
  std::vector<bson::Document> idle;
};

bson::Document describe(const TransactionRegistry::View& view, const Services& services) {
  const ClientTransaction::Life& life = view.life;
  const int64_t open_us = view.now_us - life.started_us;
  const int64_t active_us = life.busy_us + (life.busy_since_us != 0 ? view.now_us - life.busy_since_us : 0);
  bson::Builder out;
  {
    auto parameters = out.object("parameters");
    parameters.append("txnNumber", view.transaction.number()).append("autocommit", false);
    auto concern = parameters.object("readConcern");
    if (!life.read_level.empty()) concern.append("level", life.read_level);
    concern.append("provenance", "clientSupplied");
  }
  out.append("startWallClockTime", base::iso_date(life.started_ms)).append("timeOpenMicros", open_us);
  out.append("timeActiveMicros", active_us).append("timeInactiveMicros", open_us - active_us);
  out.append("expiryTime", base::iso_date(life.started_ms + services.transactions->lifetime_seconds * 1000));
  return out.done();
}

Transactions view_transactions(const Services& services, const std::string& host) {
  Transactions found;
  if (!services.transactions) return found;
  services.transactions->visit([&](const TransactionRegistry::View& view) {
    bson::Document shown = describe(view, services);
    if (view.operation != 0) {
      found.of_operations.emplace(view.operation, std::move(shown));
      return;
    }
    bson::Builder out;
    out.append("type", "idleSession").append("host", host).append("desc", "inactive transaction");
    out.append_all(view.life.client)
        .append("lsid", view.life.lsid)
        .append("transaction", shown)
        .append("waitingForLock", false)
        .append("active", false);
    out.object("locks");
    found.idle.push_back(out.done());
  });
  return found;
}

void append_cursor(bson::Builder& out, const query::CursorRegistry::Shown& cursor) {
  auto shown = out.object("cursor");
  shown.append("cursorId", cursor.id)
      .append("createdDate", bson::Date{cursor.created_ms})
      .append("lastAccessDate", bson::Date{cursor.used_ms})
      .append("nDocsReturned", cursor.documents_returned)
      .append("nBatchesReturned", cursor.batches_returned)
      .append("noCursorTimeout", cursor.no_timeout)
      .append("tailable", cursor.tailable)
      .append("awaitData", cursor.await_data)
      .append("originatingCommand", cursor.command);
  if (cursor.operation != 0) shown.append("operationUsingCursorId", cursor.operation);
}

using Cursors = std::map<int32_t, query::CursorRegistry::Shown>;  // by the operations that read from them

Cursors view_cursors(const Services& services, bool whole) {
  Cursors found;
  if (!services.cursors) return found;
  for (auto& cursor : services.cursors->show(true, whole)) found.emplace(cursor.operation, std::move(cursor));
  return found;
}

bson::Document describe(const OperationContext& op, const std::string& host, bool whole, const Transactions& transactions,
                        const Cursors& cursors) {
  const Request& request = op.request();
  const int64_t us = op.elapsed_us();
  bson::Builder out = begin(op.client(), host, true, op.services().clock.wall_ms());
  out.append("opid", op.id());
  if (const auto lsid = request.body.find("lsid"); lsid.is_object() && lsid.bytes().size() <= shown_field_bytes_max)
    out.append("lsid", lsid.as_document());
  out.append("secs_running", us / 1'000'000).append("microsecs_running", us).append("op", kind_name(op.command()));
  const auto collection = request.body.find("collection");
  const bool names_it = request.body.first().bytes().size() <= shown_field_bytes_max &&
                        (!collection.exists() || collection.bytes().size() <= shown_field_bytes_max);
  out.append("ns", names_it ? shown_namespace(request, op.command()) : request.db + ".$cmd");
  append_command(out, op, whole);
  if (const auto summary = op.plan_summary(); !summary.empty()) out.append("planSummary", summary);
  if (const auto found = cursors.find(op.id()); found != cursors.end()) append_cursor(out, found->second);
  append_progress(out, op.progress());
  append_locks(out, op.locks);
  if (const auto found = transactions.of_operations.find(op.id()); found != transactions.of_operations.end())
    out.append("transaction", found->second);
  if (op.killed()) out.append("killPending", true);
  return out.done();
}

bson::Document describe(const query::CursorRegistry::Shown& cursor, const std::string& host) {
  bson::Builder out;
  out.append("type", "idleCursor").append("host", host).append("ns", cursor.ns);
  append_users(out, cursor.owner);
  if (!cursor.lsid.empty()) out.append("lsid", cursor.lsid);
  if (!cursor.plan_summary.empty()) out.append("planSummary", cursor.plan_summary);
  append_progress(out, cursor.progress);
  append_cursor(out, cursor);
  return out.done();
}

// A member that copies another one's data does so without a client. Returns nothing when there is no such copy.
std::optional<bson::Document> describe_initial_sync(const Services& services, const std::string& host) {
  if (!services.append_initial_sync) return std::nullopt;
  bson::Builder asked;
  services.append_initial_sync(asked);
  const bson::Document answer = asked.done();
  if (!answer["initialSyncStatus"].is_object()) return std::nullopt;
  const bson::DocumentView status = answer.view()["initialSyncStatus"].as_document();
  if (status.has("initialSyncEnd")) return std::nullopt;
  const int64_t running_ms = status["totalInitialSyncElapsedMillis"].to_int64();
  bson::Builder out;
  out.append("type", "op").append("host", host).append("desc", "initial sync").append("isFromUserConnection", false);
  out.append("active", true).append("currentOpTime", base::iso_date(services.clock.wall_ms()));
  out.append("secs_running", running_ms / 1000).append("microsecs_running", running_ms * 1000);
  out.append("op", "none").append("ns", "");
  out.object("command");
  append_progress(out, {.what = "Initial sync: copying bytes of data files",
                        .done = status["approxTotalBytesCopied"].to_int64(),
                        .total = status["approxTotalDataSize"].to_int64()});
  out.object("locks");
  out.append("waitingForLock", false);
  return out.done();
}

// Returns whether the operation is this user's. One that runs without a user belongs to whoever isn't logged in.
bool is_of(bson::DocumentView shown, const access::AuthorityPtr& user) {
  const auto users = shown.find("effectiveUsers");
  if (!users.is_array() || !user) return !users.is_array() && !user;
  const auto one = users.as_document().first();
  return one.is_object() && one.as_document().find("user").as_string() == user->user.name &&
         one.as_document().find("db").as_string() == user->user.db;
}

}  // namespace

std::vector<bson::Document> view_operations(Services& services, const OperationViewOptions& options, Held& held) {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  const std::string host = std::string(name) + ":" + std::to_string(services.options.port);
  Transactions transactions = view_transactions(services, host);
  const Cursors cursors = view_cursors(services, options.whole_commands);
  std::vector<bson::Document> found;
  std::set<ClientId> busy;
  services.operations.visit([&](const OperationContext& running) {
    found.push_back(describe(running, host, options.whole_commands, transactions, cursors));
    busy.insert(running.client().id());
  });
  if (auto copy = describe_initial_sync(services, host)) found.push_back(std::move(*copy));
  if (options.idle_connections) {
    services.operations.visit_clients([&](const Client& client) {
      if (!busy.contains(client.id())) found.push_back(begin(client, host, false, services.clock.wall_ms()).done());
    });
  }
  if (options.idle_sessions)
    for (auto& one : transactions.idle) found.push_back(std::move(one));
  if (options.idle_cursors && services.cursors) {
    for (const auto& cursor : services.cursors->show(false, options.whole_commands)) found.push_back(describe(cursor, host));
  }
  for (bson::Document& one : found) {
    one = with_valid_text(std::move(one));
    held.add(one.size());
  }
  if (options.of) std::erase_if(found, [user = options.of->authority()](const bson::Document& one) { return !is_of(one, user); });
  return found;
}

}  // namespace server
