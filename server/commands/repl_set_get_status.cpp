// replSetGetStatus: how every member is, as this one sees it.
#include "base/clock.h"
#include "replication/entry.h"
#include "replication/error_codes.h"
#include "server/commands/replica_set.h"
#include "server/operation.h"
#include "server/services.h"
#include "storage/engine.h"

namespace server {
namespace {

class ReplSetGetStatus : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetGetStatus"; }
  std::string_view help() const override { return "Report status of a replica set from the POV of this server"; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const replication::Coordinator& set = set_of(op);
    const replication::Standing now = set.standing();
    if (!now.config) throw base::OperationError(replication::error::not_yet_initialized, "no replset config has been received");
    const Services& services = op.services();
    const replication::Progress progress = set.progress();
    const replication::SetConfig& config = *now.config;
    int32_t voters = 0, data_voters = 0;
    for (const auto& member : config.members) {
      voters += member.votes;
      data_voters += member.votes && !member.arbiter;
    }
    reply.append("set", config.name).append("date", bson::Date{services.clock.wall_ms()}).append("myState", static_cast<int32_t>(now.state));
    reply.append("term", now.term).append("syncSourceHost", "").append("syncSourceId", -1);
    reply.append("heartbeatIntervalMillis", config.heartbeat_interval_ms).append("majorityVoteCount", voters / 2 + 1);
    reply.append("writeMajorityCount", std::min(voters / 2 + 1, data_voters)).append("votingMembersCount", voters);
    reply.append("writableVotingMembersCount", data_voters);
    append_optimes(reply, progress);
    if (now.primary == now.self && now.primary) {
      auto metrics = reply.object("electionCandidateMetrics");
      metrics.append("lastElectionReason", "electionTimeout").append("lastElectionDate", bson::Date{now.elected_ms}).append("electionTerm", now.term);
      metrics.append("electionTimeoutMillis", config.election_timeout_ms).append("newTermStartDate", bson::Date{now.elected_ms});
    }
    auto members = reply.array("members");
    for (const auto& member : config.members) {
      auto one = members.object();
      append_member(one, op, now, member, progress);
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
      optimes.append("lastAppliedWallTime", bson::Date{progress.applied.wall_ms}).append("lastDurableWallTime", bson::Date{progress.durable.wall_ms});
    }
  }

  static void append_member(bson::Builder& out, const OperationContext& op, const replication::Standing& now, const replication::MemberConfig& member,
                            const replication::Progress& progress) {
    const bool self = &member == now.self;
    const int64_t up_s = self ? op.services().clock.monotonic_us() / 1'000'000 - started_s() : 0;
    const auto state = self ? now.state : replication::MemberState::unknown;
    out.append("_id", member.id).append("name", member.host).append("health", self ? 1.0 : 0.0);
    out.append("state", static_cast<int32_t>(state)).append("stateStr", replication::state_name(state)).append("uptime", static_cast<int32_t>(up_s));
    const replication::Progress::Place place = self ? progress.applied : replication::Progress::Place();
    replication::append_optime(out, "optime", place.optime);
    out.append("optimeDate", bson::Date{static_cast<int64_t>(place.optime.ts >> 32) * 1000}).append("lastAppliedWallTime", bson::Date{place.wall_ms});
    out.append("lastDurableWallTime", bson::Date{self ? progress.durable.wall_ms : 0}).append("syncSourceHost", "").append("syncSourceId", -1).append("infoMessage", "");
    if (now.primary == &member) {
      out.append("electionTime", bson::Timestamp{static_cast<uint32_t>(now.elected_ms / 1000), 1}).append("electionDate", bson::Date{now.elected_ms});
    }
    out.append("configVersion", static_cast<int32_t>(now.config->version)).append("configTerm", static_cast<int32_t>(now.config->term));
    if (self) out.append("self", true).append("lastHeartbeatMessage", "");
  }

  static int64_t started_s() {
    static const int64_t started = base::system_clock().monotonic_us() / 1'000'000;
    return started;
  }
  const int64_t started_ = started_s();
};

}  // namespace

std::unique_ptr<Command> make_repl_set_get_status_command() { return std::make_unique<ReplSetGetStatus>(); }

}  // namespace server
