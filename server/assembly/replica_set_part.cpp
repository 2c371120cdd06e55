#include "server/assembly/replica_set_part.h"

#include <algorithm>
#include <map>

#include "base/log.h"
#include "base/mutex.h"
#include "base/tls/contexts.h"
#include "replication/applier.h"
#include "replication/local_document.h"
#include "replication/log_feed.h"
#include "replication/repair_mark.h"
#include "replication/replica_set.h"
#include "replication/session_store.h"
#include "server/assembly/own_address.h"
#include "server/commands/replication/handshake.h"
#include "server/core/cluster_parameters.h"
#include "server/core/default_concerns.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/core/status_sections.h"
#include "server/core/topology.h"
#include "server/core/transaction_registry.h"
#include "server/peers/backup_host.h"
#include "server/peers/initial_sync.h"
#include "server/peers/members.h"
#include "server/peers/peer_client.h"
#include "server/peers/quorum_check.h"
#include "server/users/login.h"
#include "server/write/output.h"
#include "storage/collections/catalog.h"
#include "storage/engine/names.h"
#include "storage/engine/room.h"
#include "storage/store.h"
#include "storage/upkeep/replace_directory.h"

namespace server {

using base::Attributes;
using base::LogComponent;
using base::Severity;

namespace {

constexpr int64_t hand_over_ms = 5000;
constexpr std::chrono::seconds login_wait(5);
constexpr uint32_t login_reply_bytes_max = 1 << 20;
constexpr int64_t source_call_ms = 60'000;  // the source may take a checkpoint first

// A copy of another member's data has just taken this directory's place: this member's term and vote are restored, and data that
// belongs to the other member alone is removed.
void take_over_copy(const Options& options, storage::Store& store) {
  const auto origin = peers::copy_origin(options.dbpath);
  if (!origin) return;
  replication::consensus::TableLogDisk disk(store);
  replication::consensus::adopt_copied_log(disk, origin->vote.term, origin->vote.vote);
  for (const std::string& db : store.catalog().databases()) {
    for (const auto& collection : store.catalog().collections(db)) {
      const std::string ns = collection->ns();
      if (storage::is_own(ns) && !collection->read_only() && ns != replication::set_config_ns) store.catalog().drop(ns);
    }
  }
  replication::forget_repair(store);  // of the directory that the copy replaced
  storage::forget_copied(options.dbpath);
  base::log(Severity::info, LogComponent::repl, 21191, "initial sync done", Attributes().add("source", origin->source));
}

}  // namespace

// The parts are in the order of construction; they end in the opposite order.
struct ReplicaSetPart::State {
  State(const Options& given_options, Services& given_services, storage::Store& given_store, replication::Oplog& oplog,
        replication::LocalCommitter& committer)
      : options(given_options),
        services(given_services),
        store(given_store),
        log(oplog),
        sessions(store, oplog),
        applier(store, oplog, committer, sessions),
        backups(store, services.clock),
        default_concerns(store, services.clock),
        members(member, services.clock, services.member_tls, services.member_login),
        member(store, oplog, applier, services.clock, member_options()),
        feed(store, oplog, member) {}

  replication::ReplicaSetOptions member_options();
  void check_alone(const replication::SetConfig& next, replication::LogEnd own);
  void expire_pre_images();
  void copy(std::function<std::optional<std::string>()> source, std::function<replication::consensus::HardState()> stop_voting);

  const Options& options;
  Services& services;
  storage::Store& store;
  replication::Oplog& log;
  replication::SessionStore sessions;
  replication::Applier applier;
  peers::BackupHost backups;
  DefaultConcerns default_concerns;

  base::Mutex sync_mutex;
  std::unique_ptr<peers::InitialSync> sync GUARDED_BY(sync_mutex);   // while data is copied
  std::unique_ptr<peers::PeerClient> source GUARDED_BY(sync_mutex);  // the connection to the source of `sync`
  bool ending GUARDED_BY(sync_mutex) = false;

  peers::Members members;  // `member` nudges it as long as it lives
  replication::ReplicaSet member;
  replication::LogFeed feed;
};

replication::ReplicaSetOptions ReplicaSetPart::State::member_options() {
  replication::ReplicaSetOptions out;
  out.set_name = options.repl_set;
  out.default_host = own_host(options);
  out.rollback_directory = options.dbpath + "/rollback";
  out.is_self = [this](const std::string& host) { return leads_here(host, options); };
  out.changed = [this] {
    services.topology.changed();
    members.nudge();
    services.logins->users()->changed();  // what was rolled back is in no log
  };
  out.interrupt_writers = [this] {
    services.operations.kill_writers(base::ErrorCode::interrupted_due_to_state_change);
    services.transactions->abort_all(base::ErrorCode::interrupted_due_to_state_change);
  };
  out.became_primary = [this] {
    default_concerns.refresh();
    write::drop_unfinished_output(store, *services.databases);
  };
  out.tls = services.member_tls;
  if (services.member_login) {
    out.log_in = [login = services.member_login](int descriptor, base::tls::Stream* tls) {
      peers::PeerChannel channel("another member", descriptor, tls, -1, login_reply_bytes_max);
      peers::log_in(channel, *login, std::chrono::steady_clock::now() + login_wait);
    };
  }
  out.check_others = [is_self = out.is_self, tls = services.member_tls, login = services.member_login](
                         const replication::SetConfig& config, bool initiating) {
    peers::check_quorum(config, initiating, is_self, tls, login);
  };
  out.check_alone = [this](const replication::SetConfig& next, replication::LogEnd own) { check_alone(next, own); };
  out.copy = [this](auto from, auto stop_voting) { copy(std::move(from), std::move(stop_voting)); };
  out.restart = [this](const std::string& why) { services.restart(why); };
  return out;
}

void ReplicaSetPart::State::check_alone(const replication::SetConfig& next, replication::LogEnd own) {
  const replication::Standing now = member.standing();
  // The heartbeats are sent now, so that the answer isn't two seconds old.
  const int64_t asked_ms = services.clock.wall_ms();
  members.nudge();
  std::vector<std::string> others;
  for (const auto& other : now.config->members) {
    if (&other != now.self) others.push_back(other.host);
  }
  if (now.self) members.await_heartbeats(others, asked_ms, std::chrono::seconds(now.config->heartbeat_timeout_s));
  const auto refuse_where = [&](auto applies, const char* why) {
    for (const auto& other : now.config->members) {
      const peers::MemberView view = members.view(other.host);
      if (&other == now.self || view.health != peers::MemberView::Health::up || !applies(other, view.reply)) continue;
      throw base::OperationError(base::ErrorCode::new_config_incompatible, "The member " + other.host + why);
    }
  };
  refuse_where([](const auto&, const auto& reply) { return reply.state == replication::MemberState::primary; },
               " is primary; reconfigure there");
  refuse_where(
      [&](const auto& other, const auto& reply) { return !other.arbiter && next.member(other.host) && reply.log_end > own; },
      " has more of the log than this one; force the reconfiguration there");
}

void ReplicaSetPart::State::copy(std::function<std::optional<std::string>()> from,
                                 std::function<replication::consensus::HardState()> stop_voting) {
  peers::InitialSyncNeeds needs;
  // The primary surely has everything that this member may once have acknowledged; `from` names it if consensus knows it. Once
  // this member has stopped voting there may be none any more. Then a member will do whose log goes at least as far, because
  // that has all that was ever majority-committed of this member's.
  std::optional<replication::LogEnd> stopped_at;
  needs.source = [this, from, &stopped_at]() -> std::optional<std::string> {
    if (auto leader = from()) return leader;
    const replication::Standing standing = member.standing();
    for (const auto& other : standing.config->members) {
      if (members.view(other.host).reply.state == replication::MemberState::primary) return other.host;
    }
    for (const auto& other : standing.config->members) {
      if (!stopped_at || other.arbiter || &other == standing.self) continue;
      const peers::MemberView view = members.view(other.host);
      if (view.health == peers::MemberView::Health::up && view.reply.state == replication::MemberState::secondary &&
          !(*stopped_at > view.reply.log_end))
        return other.host;
    }
    return std::nullopt;
  };
  needs.stop_voting = [this, stop_voting, &stopped_at] {
    const replication::consensus::HardState own = [&] {
      try {
        return stop_voting();
      } catch (...) {
        stopped_at = member.log_end();
        throw;
      }
    }();
    return peers::OwnVote{own.term, own.vote};
  };
  needs.call = [this](const std::string& host, bson::DocumentView command) {
    peers::PeerClient* connection = nullptr;  // this thread alone replaces it
    {
      const base::MutexLock lock(sync_mutex);
      if (ending) throw base::OperationError(base::ErrorCode::shutdown_in_progress, "the server is shutting down");
      if (!source || source->address() != host)
        source = std::make_unique<peers::PeerClient>(
            host, peers::PeerOptions{.tls = services.member_tls, .login = services.member_login});
      connection = source.get();
    }
    return connection->run("admin", command, source_call_ms);
  };
  // A primary that other members have replaced may lack entries that this member has acknowledged since.
  needs.refuse = [this](bson::DocumentView begun) -> std::string {
    const int64_t own = member.standing().term, its = begun["term"].to_int64();
    return its >= own ? "" : "it is in term " + std::to_string(its) + ", this member in " + std::to_string(own);
  };
  peers::InitialSyncOptions how;
  how.dbpath = options.dbpath;
  const replication::Standing own = member.standing();
  how.self = own.self ? own.self->host : own_host(options);
  how.encryption = options.encryption;
  how.reserve_bytes = storage::disk_figures(store).reserve_bytes;
  peers::InitialSync* running = nullptr;
  {
    const base::MutexLock lock(sync_mutex);
    if (ending) throw base::OperationError(base::ErrorCode::shutdown_in_progress, "the server is shutting down");
    sync = std::make_unique<peers::InitialSync>(services.clock, how, std::move(needs));
    running = sync.get();
  }
  running->run();
}

// A pre-image is kept while its change is in the log, but no longer than `expireAfterSeconds` of changeStreamOptions says.
void ReplicaSetPart::State::expire_pre_images() {
  storage::Stamp below = replication::oldest_row(store, log);
  if (const auto seconds = pre_image_seconds(store)) {
    const int64_t oldest = services.clock.wall_ms() / 1000 - *seconds;
    if (oldest > 0) below = std::max(below, static_cast<storage::Stamp>(oldest) << 32);
  }
  log.pre_images().expire(below);
}

ReplicaSetPart::ReplicaSetPart(const Options& options, Services& services, storage::Store& store, replication::Oplog& oplog,
                               replication::LocalCommitter& committer) {
  take_over_copy(options, store);
  state_ = std::make_unique<State>(options, services, store, oplog, committer);
  State& state = *state_;
  committer.set_term_source([&member = state.member] { return member.write_term(); });
  services.replica_set = &state.member;
  services.log_feed = &state.feed;
  services.session_store = &state.sessions;
  services.backups = &state.backups;
  services.default_concerns = &state.default_concerns;
  services.members = &state.members;
  services.peer_connection = [&member = state.member](int descriptor, std::unique_ptr<base::tls::Stream> tls, base::Bytes read) {
    member.adopt_connection(descriptor, std::move(tls), std::move(read));
  };
  services.waits_for_disk_space = [&state]() -> std::string {
    {
      const base::MutexLock lock(state.sync_mutex);
      if (state.sync && state.sync->waits_for_room()) return "waiting for disk space to copy another member's data";
    }
    return std::string(state.member.standing().waits_for_room);
  };
  services.status.add("repl", [&state, &services](OperationContext&, bson::Builder& out) {
    append_set(out, "isWritablePrimary", state.member);
    out.append("waitsForDiskSpace", !services.waits_for_disk_space().empty());
  });
  services.status.add("opcountersRepl", [&counts = state.applier.counts()](OperationContext&, bson::Builder& out) {
    out.append("insert", counts.inserts.get()).append("query", int64_t{0}).append("update", counts.updates.get());
    out.append("delete", counts.removes.get()).append("getmore", int64_t{0}).append("command", counts.commands.get());
  });
  services.status.add(
      "forwardLog", [&forward = state.applier.forward()](OperationContext&, bson::Builder& out) { forward.append_status(out); });
  services.status.add("changeStreams", [&feed = state.feed](OperationContext&, bson::Builder& out) {
    const replication::LogFeed::Figures figures = feed.figures();
    out.append("open", figures.followers).append("keptChanges", figures.kept_changes).append("keptBytes", figures.kept_bytes);
    out.append("rounds", figures.rounds).append("readFromLog", figures.read_behind);
  });
  services.parameters.add_boolean("dedupForwardLog", state.applier.forward().enabled);
  services.append_initial_sync = [&state](bson::Builder& out) {
    const base::MutexLock lock(state.sync_mutex);
    if (!state.sync) return;
    auto status = out.object("initialSyncStatus");
    state.sync->append_status(status);
  };
}

void ReplicaSetPart::start() {
  state_->member.start();
  state_->members.start();
}

void ReplicaSetPart::stop() {
  state_->members.stop();
  const base::MutexLock lock(state_->sync_mutex);
  state_->ending = true;
  if (state_->sync) state_->sync->interrupt();
  if (state_->source) state_->source->interrupt();
}

void ReplicaSetPart::keep_house() {
  state_->backups.expire();
  state_->default_concerns.refresh();
  state_->expire_pre_images();
}

void ReplicaSetPart::hand_over() {
  if (!state_->member.writable()) return;
  size_t with_data = 0;
  const replication::Standing standing = state_->member.standing();
  for (const auto& member : standing.config->members) with_data += !member.arbiter;
  if (with_data < 2) return;
  try {
    state_->member.step_down({.catch_up_ms = hand_over_ms});
  } catch (const base::OperationError& error) {
    base::log(Severity::info, LogComponent::repl, 7100040, "No other member could take over before the end",
              Attributes().add("reason", error.what()));
  }
}

ReplicaSetPart::~ReplicaSetPart() {
  stop();
}

}  // namespace server
