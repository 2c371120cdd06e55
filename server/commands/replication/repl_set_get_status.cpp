// replSetGetStatus shows the state of every member, as this one sees it.
#include "base/clock.h"
#include "replication/entry.h"
#include "server/commands/replication/replica_set.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/peers/members.h"
#include "storage/store.h"

namespace server {
namespace {

class ReplSetGetStatus : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetGetStatus"; }
  std::string_view help() const override { return "Report status of a replica set from the POV of this server"; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const replication::Coordinator& set = set_of(op);
    const replication::Standing now = set.standing();
    if (!now.config) throw base::OperationError(base::ErrorCode::not_yet_initialized, "no replset config has been received");
    if (!now.self)
      throw base::OperationError(base::ErrorCode::invalid_replica_set_config,
                                 "Our replica set config is invalid or we are not a member of it");
    const Services& services = op.services();
    const replication::Progress progress = set.progress();
    const replication::SetConfig& config = *now.config;
    int32_t voters = 0, data_voters = 0;
    for (const auto& member : config.members) {
      voters += member.votes;
      data_voters += member.votes && !member.arbiter;
    }
    reply.append("set", config.name)
        .append("date", bson::Date{services.clock.wall_ms()})
        .append("myState", static_cast<int32_t>(now.state));
    reply.append("term", now.term);
    const std::string source = peers::sync_source(now);
    const replication::MemberConfig* source_member = config.member(source);
    reply.append("syncSourceHost", source).append("syncSourceId", source_member ? source_member->id : -1);
    reply.append("heartbeatIntervalMillis", static_cast<int64_t>(config.heartbeat_interval_ms))
        .append("majorityVoteCount", voters / 2 + 1);
    reply.append("writeMajorityCount", std::min(voters / 2 + 1, data_voters)).append("votingMembersCount", voters);
    reply.append("writableVotingMembersCount", data_voters);
    append_optimes(reply, progress);
    if (now.primary == now.self && now.primary) {
      auto metrics = reply.object("electionCandidateMetrics");
      metrics.append("lastElectionReason", "electionTimeout")
          .append("lastElectionDate", bson::Date{now.elected_ms})
          .append("electionTerm", now.term);
      metrics.append("electionTimeoutMillis", config.election_timeout_ms).append("newTermStartDate", bson::Date{now.elected_ms});
    }
    const auto initial_sync = request.body.find("initialSync");
    if (services.append_initial_sync && (!initial_sync.exists() || initial_sync.truthy())) services.append_initial_sync(reply);
    auto members = reply.array("members");
    for (const auto& member : config.members) {
      auto one = members.object();
      if (&member == now.self)
        append_self(one, op, now, progress);
      else
        append_other(one, op, now, member, services.members ? services.members->view(member.host) : peers::MemberView());
    }
  }

 private:
  static void append_optimes(bson::Builder& reply, const replication::Progress& progress) {
    {
      auto optimes = reply.object("optimes");
      replication::append_optime(optimes, "lastCommittedOpTime", progress.committed.optime);
      optimes.append("lastCommittedWallTime", bson::Date{progress.committed.wall_ms});
      replication::append_optime(optimes, "readConcernMajorityOpTime", progress.committed.optime);
      replication::append_optime(optimes, "appliedOpTime", progress.applied.optime);
      replication::append_optime(optimes, "durableOpTime", progress.durable.optime);
      optimes.append("lastAppliedWallTime", bson::Date{progress.applied.wall_ms})
          .append("lastDurableWallTime", bson::Date{progress.durable.wall_ms});
    }
  }

  static std::string info_of(const Services& services) {
    return services.waits_for_disk_space ? services.waits_for_disk_space() : "";
  }

  // Appends this member, as it knows itself.
  static void append_self(bson::Builder& out, const OperationContext& op, const replication::Standing& now,
                          const replication::Progress& progress) {
    const int64_t up_s = (op.services().clock.monotonic_us() - op.services().started_us) / 1'000'000;
    out.append("_id", now.self->id).append("name", now.self->host).append("health", 1.0);
    append_state(out, now.state, replication::state_name(now.state), up_s);
    if (!now.self->arbiter) {
      replication::append_optime(out, "optime", progress.applied.optime);
      append_date(out, "optimeDate", progress.applied.optime);
      append_walls(out, progress.applied.wall_ms, progress.durable.wall_ms);
    }
    append_source(out, *now.config, peers::sync_source(now), info_of(op.services()));
    if (now.primary == now.self) append_election(out, peers::election_time(now));
    append_config(out, peers::place_of(now.config.get()));
    out.append("self", true).append("lastHeartbeatMessage", "");
  }

  // Appends another member, by its last heartbeat.
  static void append_other(bson::Builder& out, const OperationContext& op, const replication::Standing& now,
                           const replication::MemberConfig& member, const peers::MemberView& view) {
    using Health = peers::MemberView::Health;
    const bool up = view.health == Health::up;
    const int64_t up_s = up ? (op.services().clock.monotonic_us() - view.up_since_us) / 1'000'000 : 0;
    const auto state = state_of(now, member, view);
    out.append("_id", member.id).append("name", member.host).append("health", up ? 1.0 : 0.0);
    append_state(out, state, view.health == Health::down ? "(not reachable/healthy)" : replication::state_name(state), up_s);
    if (!member.arbiter) {
      replication::append_optime(out, "optime", view.reply.applied.optime);
      replication::append_optime(out, "optimeDurable", view.reply.durable.optime);
      append_date(out, "optimeDate", view.reply.applied.optime);
      append_date(out, "optimeDurableDate", view.reply.durable.optime);
      append_walls(out, view.reply.applied.wall_ms, view.reply.durable.wall_ms);
    }
    out.append("lastHeartbeat", bson::Date{view.last_heartbeat_ms}).append("lastHeartbeatRecv", bson::Date{view.last_heard_ms});
    out.append("pingMs", view.ping_ms).append("lastHeartbeatMessage", view.message);
    append_source(out, *now.config, view.reply.sync_source, "");
    if (state == replication::MemberState::primary) {
      append_election(out, now.primary == &member && now.elected_ms > 0 ? peers::election_time(now)
                                                                        : view.reply.election_time.value_or(bson::Timestamp{}));
    }
    append_config(out, view.reply.config);
  }

  // Consensus knows the leader before a heartbeat does.
  static replication::MemberState state_of(const replication::Standing& now, const replication::MemberConfig& member,
                                           const peers::MemberView& view) {
    using replication::MemberState;
    if (view.health == peers::MemberView::Health::down) return MemberState::down;
    if (view.health == peers::MemberView::Health::unknown) return MemberState::unknown;
    if (now.primary == &member) return MemberState::primary;
    return view.reply.state == MemberState::primary && now.primary ? MemberState::secondary : view.reply.state;
  }

  static void append_state(bson::Builder& out, replication::MemberState state, std::string_view text, int64_t up_s) {
    out.append("state", static_cast<int32_t>(state)).append("stateStr", text).append("uptime", static_cast<int32_t>(up_s));
  }
  static void append_date(bson::Builder& out, std::string_view name, const replication::OpTime& optime) {
    out.append(name, bson::Date{static_cast<int64_t>(optime.ts >> 32) * 1000});
  }
  static void append_walls(bson::Builder& out, int64_t applied_ms, int64_t durable_ms) {
    out.append("lastAppliedWallTime", bson::Date{applied_ms}).append("lastDurableWallTime", bson::Date{durable_ms});
  }
  static void append_source(bson::Builder& out, const replication::SetConfig& config, const std::string& host,
                            std::string_view info) {
    const replication::MemberConfig* source = config.member(host);
    out.append("syncSourceHost", host).append("syncSourceId", source ? source->id : -1).append("infoMessage", info);
  }
  static void append_election(bson::Builder& out, bson::Timestamp time) {
    out.append("electionTime", time).append("electionDate", bson::Date{static_cast<int64_t>(time.seconds) * 1000});
  }
  static void append_config(bson::Builder& out, const peers::ConfigPlace& place) {
    out.append("configVersion", static_cast<int32_t>(place.version)).append("configTerm", static_cast<int32_t>(place.term));
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_get_status_command() {
  return std::make_unique<ReplSetGetStatus>();
}

}  // namespace server
