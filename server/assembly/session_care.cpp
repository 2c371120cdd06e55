#include "server/assembly/session_care.h"

#include <algorithm>

#include "base/clock.h"
#include "base/log.h"
#include "bson/builder.h"
#include "replication/coordinator.h"
#include "replication/session_store.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/status_sections.h"
#include "server/core/write_gate.h"
#include "server/write/statements.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {

namespace {

constexpr char sessions_ns[] = "config.system.sessions";
constexpr int64_t record_lifetime_ms = 30 * 60'000;  // TransactionRecordMinimumLifetimeMinutes

bson::Document id_filter(const bson::Bytes& key) {
  bson::Builder out;
  out.append("_id", session_document(key));
  return out.done();
}

// Makes the collection with the index by which other members' old sessions are removed.
void make_collection(Services& services) {
  storage::Catalog& catalog = services.store->catalog();
  const auto collection = catalog.open_or_create(sessions_ns);
  if (collection->index("lsidTTLIndex")) return;
  bson::Builder spec;
  {
    auto key = spec.object("key");
    key.append("lastUse", 1);
  }
  spec.append("name", "lsidTTLIndex").append("expireAfterSeconds", services.sessions.timeout_minutes * 60);
  catalog.create_indexes(collection, {storage::parse_index_spec(spec.done())});
}

}  // namespace

SessionCare::SessionCare(Services& services)
    : services_(services),
      passes_(
          services.clock, "LogicalSessionCacheRefresh",
          [this] { return std::chrono::milliseconds(services_.sessions.refresh_ms.load()); }, [this] { try_pass(); }) {
  SessionRegistry& sessions = services.sessions;
  services.parameters.add_integer("localLogicalSessionTimeoutMinutes", sessions.timeout_minutes, {.min = 1, .at_runtime = false});
  services.parameters.add_integer("maxSessions", sessions.sessions_max, {.min = 1, .at_runtime = false});
  services.parameters.add_integer("logicalSessionRefreshMillis", sessions.refresh_ms, {.min = 1, .at_runtime = false});
  services.status.add("logicalSessionRecordCache", [this](OperationContext&, bson::Builder& out) { append_status(out); });
}

void SessionCare::try_pass() {
  try {
    run_pass();
  } catch (const std::exception& error) {
    // The next pass tries again; the member may just have stepped down.
    base::log(base::Severity::info, base::LogComponent::control, 20711,
              "Failed to refresh session cache, will try again at the next refresh interval",
              base::Attributes().add("error", error.what()));
  }
}

void SessionCare::run_pass() {
  const int64_t begun_ms = services_.clock.wall_ms();
  expire();
  replication::Coordinator* set = services_.replica_set;
  // If the removal can't be written, another member's entry stays until it is too old.
  const auto news = services_.sessions.take_news();
  if (set && set->writable()) write_down(news);
  {
    const base::MutexLock lock(mutex_);
    ++done_.passes;
    done_.begun_ms = begun_ms;
    done_.took_ms = services_.clock.wall_ms() - begun_ms;
    done_.refreshed = static_cast<int64_t>(news.used.size());
    done_.ended = static_cast<int64_t>(news.ended.size());
  }
  if (set && set->writable()) reap(*set);
}

void SessionCare::reap(replication::Coordinator& set) {
  const int64_t begun_ms = services_.clock.wall_ms();
  const int64_t records_before = begun_ms - record_lifetime_ms;
  const base::SharedHold gate = services_.write_gate->try_pass();
  if (!gate) return;  // the next pass reaps
  const auto primary = set.hold_primary();
  const int64_t reaped = services_.session_store->expire(*services_.committer, records_before,
                                                         [this](bson::BytesView key) { return services_.sessions.knows(key); });
  const base::MutexLock lock(mutex_);
  ++done_.reaps;
  done_.reap_begun_ms = begun_ms;
  done_.reap_took_ms = services_.clock.wall_ms() - begun_ms;
  done_.reaped = reaped;
}

void SessionCare::append_status(bson::Builder& out) const {
  const auto narrow = [](int64_t value) { return static_cast<int32_t>(std::min<int64_t>(value, INT32_MAX)); };
  const size_t active = services_.sessions.active().size();
  const base::MutexLock lock(mutex_);
  out.append("activeSessionsCount", narrow(static_cast<int64_t>(active)))
      .append("sessionsCollectionJobCount", narrow(done_.passes));
  out.append("lastSessionsCollectionJobDurationMillis", narrow(done_.took_ms))
      .append("lastSessionsCollectionJobTimestamp", bson::Date{done_.begun_ms});
  out.append("lastSessionsCollectionJobEntriesRefreshed", narrow(done_.refreshed))
      .append("lastSessionsCollectionJobEntriesEnded", narrow(done_.ended));
  out.append("transactionReaperJobCount", narrow(done_.reaps))
      .append("lastTransactionReaperJobDurationMillis", narrow(done_.reap_took_ms));
  out.append("lastTransactionReaperJobTimestamp", bson::Date{done_.reap_begun_ms})
      .append("lastTransactionReaperJobEntriesCleanedUp", narrow(done_.reaped));
}

void SessionCare::expire() {
  for (const bson::Bytes& key : services_.sessions.expire(services_.clock.wall_ms())) {
    if (services_.sessions_ended) services_.sessions_ended(key);
  }
}

void SessionCare::write_down(const SessionRegistry::News& news) {
  if (news.used.empty() && news.ended.empty()) return;
  make_collection(services_);
  bson::Builder body;
  body.append("update", "system.sessions");
  Passes::Operation operation(passes_, services_, "config", body.done());
  OperationContext& op = operation.context();
  op.begin_writing();
  for (const auto& session : news.used) {
    const bson::Document filter = id_filter(session.key);
    bson::Builder change;
    {
      auto set = change.object("$max");
      set.append("lastUse", bson::Date{session.used_ms});
    }
    const bson::Value update(change.done());
    write::UpdateStatement statement;
    statement.selection.filter = filter;
    statement.update = update;
    statement.upsert = true;
    write::run_update(op, sessions_ns, statement);
  }
  for (const bson::Bytes& key : news.ended) {
    const bson::Document filter = id_filter(key);
    write::Selection selection;
    selection.filter = filter;
    write::run_delete(op, sessions_ns, selection);
  }
}

}  // namespace server
