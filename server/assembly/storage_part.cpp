#include "server/assembly/storage_part.h"
#include "server/assembly/access_part.h"
#include "server/assembly/audit_part.h"

#include <filesystem>
#include <functional>

#include "base/clock.h"
#include "base/log.h"
#include "replication/committer.h"
#include "replication/local_document.h"
#include "replication/oplog.h"
#include "server/assembly/dedup_parameters.h"
#include "server/assembly/replica_set_part.h"
#include "server/assembly/session_care.h"
#include "server/assembly/status_metrics.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/parameters.h"
#include "server/core/passes.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/status_sections.h"
#include "server/core/transaction_registry.h"
#include "server/core/write_gate.h"
#include "server/query/cursor_registry.h"
#include "server/query/plan/implies.h"
#include "server/query/series/series_options.h"
#include "server/write/branch_sweeper.h"
#include "server/write/import_limits.h"
#include "server/write/output.h"
#include "server/write/snapshot_keeper.h"
#include "server/write/ttl_monitor.h"
#include "storage/background/dedup_service.h"
#include "storage/engine/room.h"
#include "storage/store.h"
#include "storage/upkeep/renew_indexes.h"
#include "storage/upkeep/replace_directory.h"
#include "versions/database/databases.h"
#include "versions/past/past.h"

namespace server {

using base::Attributes;
using base::LogComponent;
using base::Severity;

namespace {

constexpr auto housekeeping_interval = std::chrono::seconds(4);
constexpr auto transactions_interval = std::chrono::seconds(1);
// Drafts take at most so many percent of the cache. The engine can't evict what isn't committed, and begins to slow writers down
// when a fifth of the cache has to be written.
constexpr uint64_t drafts_percent = 15;

}  // namespace

uint64_t oplog_bytes(const Options& options) {
  return options.oplog_mb > 0 ? static_cast<uint64_t>(options.oplog_mb) << 20 : replication::default_oplog_bytes(options.dbpath);
}

storage::StoreOptions store_options(const Options& options, base::Clock& clock) {
  storage::StoreOptions store(clock);
  store.path = options.dbpath;
  store.cache_bytes = options.cache_bytes();
  store.block_compressor = options.block_compressor;
  store.journal_compressor = options.journal_compressor;
  store.checkpoint_seconds = options.checkpoint_s;
  store.journal_commit_ms = options.journal_commit_ms;
  store.encryption = options.encryption;
  store.replicated = !options.repl_set.empty();
  store.salvage = options.action == Options::Action::repair;
  store.dedup.enabled = options.dedup;
  store.dedup.profile = options.dedup_profile;
  return store;
}

namespace {

void append_oplog(const replication::OplogStats& stats, bson::Builder& out) {
  const auto timestamp = [](storage::Stamp stamp) {
    return bson::Timestamp{static_cast<uint32_t>(stamp >> 32), static_cast<uint32_t>(stamp)};
  };
  out.append("entries", stats.entries).append("logicalBytes", stats.logical_bytes).append("storedBytes", stats.stored_bytes);
  out.append("maxBytes", stats.bytes_max).append("earliest", timestamp(stats.first)).append("latest", timestamp(stats.last));
}

void append_cursors(const query::CursorRegistry::Counts& counts, bson::Builder& out) {
  out.append("timedOut", counts.timed_out).append("totalOpened", counts.opened);
  auto open = out.object("open");
  open.append("noTimeout", counts.no_timeout).append("pinned", counts.pinned).append("total", counts.open);
}

// Collections of the server itself are counted apart.
void append_catalog(const storage::Catalog& catalog, bson::Builder& out) {
  int32_t collections = 0, capped = 0, series = 0, internal = 0;
  for (const std::string& db : catalog.databases()) {
    const bool own = db == "admin" || db == "config" || db == "local";
    for (const auto& collection : catalog.collections(db)) {
      ++(own ? internal : collections);
      capped += !own && collection->options().capped ? 1 : 0;
      series += !own && query::is_buckets(collection->ns()) ? 1 : 0;
    }
  }
  out.append("collections", collections)
      .append("capped", capped)
      .append("clustered", 0)
      .append("timeseries", series)
      .append("views", 0);
  out.append("internalCollections", internal).append("internalViews", 0);
}

void append_disk(const storage::DiskFigures& disk, bson::Builder& out) {
  out.append("state", storage::name_of(disk.state));
  out.append("fsTotalBytes", static_cast<int64_t>(disk.filesystem_bytes))
      .append("freeBytes", static_cast<int64_t>(disk.free_bytes));
  out.append("reserveBytes", static_cast<int64_t>(disk.reserve_bytes));
  out.append("ballastBytes", static_cast<int64_t>(disk.ballast_bytes));
  out.append("unwrittenCacheBytes", static_cast<int64_t>(disk.unwritten_bytes));
  out.append("operationsRefused", static_cast<int64_t>(disk.refused));
  out.append("ballastReleases", static_cast<int64_t>(disk.ballast_given_up));
}

}  // namespace

// The parts are in the order of construction, and end in the opposite order: first the background work, then the cursors, then
// the log, then the engine.
struct StoragePart::State {
  State(const Options& options, Services& given_services)
      : services(given_services),
        store(store_options(options, services.clock)),
        oplog(store, oplog_bytes(options)),
        committer(store, oplog, services.clock),
        past(store),
        databases(store, past, &committer) {
    committer.set_branch_replayer(&databases);
  }

  void add_sections();
  void add_parameters();
  void end_sessions(bson::BytesView pattern);
  void add_transactions();
  void join_set(const Options& options);

  Services& services;
  storage::Store store;
  WriteGate write_gate{store.engine()};
  replication::Oplog oplog;
  std::unique_ptr<AccessPart> access;
  replication::LocalCommitter committer;
  versions::past::Past past;
  versions::Databases databases;
  std::unique_ptr<ReplicaSetPart> set;  // with --replSet
  query::CursorRegistry cursors{services.clock};
  write::ImportLimits imports;
  std::unique_ptr<TransactionRegistry> transactions;  // with --replSet
  storage::IndexRenewal indexes{store};
  std::unique_ptr<write::TtlMonitor> ttl;
  std::unique_ptr<write::BranchSweeper> sweeper;
  std::unique_ptr<write::SnapshotKeeper> snapshots;
  std::unique_ptr<Passes> housekeeping;
  std::unique_ptr<SessionCare> session_care;
  std::unique_ptr<Passes> transaction_care;
};

void StoragePart::State::add_sections() {
  StatusSections& sections = services.status;
  sections.add("storageEngine", [](OperationContext&, bson::Builder& out) {
    out.append("name", "wiredTiger").append("supportsCommittedReads", true).append("readOnly", false).append("persistent", true);
  });
  sections.add("catalogStats", [this](OperationContext&, bson::Builder& out) { append_catalog(store.catalog(), out); });
  sections.add("wiredTiger", [this](OperationContext&, bson::Builder& out) {
    store.engine().append_stats(out);
    append_concurrent(services, out);
  });
  sections.add("diskSpace",
               [this](OperationContext&, bson::Builder& out) { append_disk(storage::disk_figures(store.engine()), out); });
  sections.add("dedup", [this](OperationContext&, bson::Builder& out) { store.dedup().append_server_status(out); });
  sections.add("oplog", [this](OperationContext&, bson::Builder& out) { append_oplog(oplog.stats(), out); });
  sections.add("snapshots", [this](OperationContext&, bson::Builder& out) {
    const versions::past::Snapshots& snapshots = past.snapshots();
    out.append("declared", static_cast<int64_t>(snapshots.all().size()))
        .append("waitToBeSwept", static_cast<int64_t>(snapshots.dropped().size()));
    out.append("savedContents", static_cast<int64_t>(past.saved()))
        .append("tableBytes", static_cast<int64_t>(past.tables_bytes()));
  });
  sections.add("cursors", [this](OperationContext&, bson::Builder& out) { append_cursors(cursors.counts(), out); });
}

void StoragePart::State::end_sessions(bson::BytesView pattern) {
  cursors.kill_sessions(pattern);
  if (transactions) transactions->forget(pattern, base::ErrorCode::interrupted);
}

void StoragePart::State::add_transactions() {
  drop_stand_ins(store.catalog());
  transactions = std::make_unique<TransactionRegistry>(
      services.clock, services.metrics,
      [this](bson::BytesView session, int64_t number) { cursors.end_transaction(session, number); });
  transactions->drafts_bytes_max = store.options().cache_bytes / 100 * drafts_percent;
  services.transactions = transactions.get();
  services.parameters.add_integer("transactionLifetimeLimitSeconds", transactions->lifetime_seconds, {.min = 1});
  services.parameters.add_integer("maxTransactionLockRequestTimeoutMillis", transactions->lock_timeout_ms);
  transaction_care = std::make_unique<Passes>(
      services.clock, "abortExpiredTransactions", [] { return transactions_interval; }, [this] { transactions->expire(); });
}

void StoragePart::State::join_set(const Options& options) {
  if (options.repl_set.empty()) {
    if (replication::was_member(store)) {
      base::log_startup_warning(
          20547,
          "Document(s) exist in 'system.replset', but started without --replSet. Database contents may appear inconsistent with "
          "the "
          "writes that were visible when this node was running as part of a replica set. Restart with --replSet unless you are "
          "doing maintenance and no other clients are connected");
    }
    return;
  }
  add_transactions();
  set = std::make_unique<ReplicaSetPart>(options, services, store, oplog, committer);
}

void StoragePart::State::add_parameters() {
  imports.add_to(services.parameters);
  services.parameters.add_integer("cursorTimeoutMillis", cursors.timeout_ms, {.min = 1});
  add_dedup_parameters(services.parameters, store.dedup());
}

StoragePart::StoragePart(const Options& options, Services& services) {
  base::log(Severity::info, LogComponent::storage, 22315, "Opening the data directory",
            Attributes().add("dbPath", options.dbpath).add("cacheBytes", options.cache_bytes()));
  storage::place_copy(options.dbpath);
  state_ = std::make_unique<State>(options, services);
  State& state = *state_;
  std::error_code ignored;
  std::filesystem::remove_all(options.dbpath + "/_tmp", ignored);  // sorts leave files behind when the process is killed
  // A server that was a member continues in the term of its newest entry, because terms never decrease along the log.
  state.committer.set_term_source([term = std::max<int64_t>(1, state.oplog.newest().optime.term)] { return term; });
  if (services.audit) audit_schemas(*services.audit, state.committer, state.store.catalog());
  state.store.catalog().set_predicate_compiler(query::plan::compile_partial_filter);
  if (options.repl_set.empty()) write::drop_unfinished_output(state.store, state.databases);  // a member does so as primary
  services.store = &state.store;
  services.write_gate = &state.write_gate;
  services.databases = &state.databases;
  services.past = &state.past;
  services.cursors = &state.cursors;
  services.committer = &state.committer;
  services.oplog = &state.oplog;
  services.when_durable = [&state](std::function<void()> done) { state.committer.when_durable(std::move(done)); };
  services.sessions_ended = [&state](bson::BytesView pattern) { state.end_sessions(pattern); };
  state.access = std::make_unique<AccessPart>(options, services, state.store, state.oplog);
  state.add_sections();
  state.add_parameters();
  state.join_set(options);
  state.ttl = std::make_unique<write::TtlMonitor>(services);
  state.sweeper = std::make_unique<write::BranchSweeper>(services);
  state.snapshots = std::make_unique<write::SnapshotKeeper>(services);
  state.session_care = std::make_unique<SessionCare>(services);
  state.housekeeping = std::make_unique<Passes>(
      services.clock, "housekeeping", [] { return housekeeping_interval; },
      [&state] {
        state.cursors.expire();
        if (state.set)
          state.set->keep_house();
        else
          state.indexes.run();  // of a member all members would have to build them
      });
  services.refresh_sessions = [&state] { state.session_care->run_pass(); };
}

void StoragePart::start() {
  State& state = *state_;
  if (state.set) state.set->start();
  state.session_care->start();
  state.ttl->start();
  state.sweeper->start();
  state.snapshots->start();
  state.housekeeping->start();
  if (state.transaction_care) state.transaction_care->start();
}

void StoragePart::hand_over() {
  if (state_->set) state_->set->hand_over();
}

StoragePart::~StoragePart() {
  if (!state_) return;
  state_->transaction_care.reset();
  state_->session_care.reset();
  state_->housekeeping.reset();
  state_->snapshots.reset();
  state_->sweeper.reset();
  state_->ttl.reset();
  state_->end_sessions({});
  base::log(Severity::info, LogComponent::storage, 22317, "Closing the data directory");
}

}  // namespace server
