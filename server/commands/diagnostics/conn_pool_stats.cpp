// connPoolStats shows this server's connections to others: one to each other member of its set.
#include "server/core/command.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/peers/members.h"

namespace server {
namespace {

void append_connections(bson::Builder& out, int32_t connected, int32_t created) {
  out.append("inUse", 0).append("available", connected).append("leased", 0).append("created", created).append("refreshing", 0);
}

class ConnPoolStats : public Command {
 public:
  std::string_view name() const override { return "connPoolStats"; }
  std::string_view help() const override {
    return "stats about connections between servers in a replica set or sharded cluster.";
  }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    std::vector<peers::Members::Connection> connections;
    if (const peers::Members* members = op.services().members) connections = members->connections();
    int32_t connected = 0, created = 0;
    for (const auto& connection : connections) {
      connected += connection.connected ? 1 : 0;
      created += static_cast<int32_t>(connection.created);
    }
    reply.append("numClientConnections", static_cast<int32_t>(connections.size())).append("numAScopedConnections", 0);
    reply.append("totalInUse", 0).append("totalAvailable", connected).append("totalLeased", 0).append("totalCreated", created);
    reply.append("totalRefreshing", 0).append("replicaSetMatchingStrategy", "matchPrimaryNode");
    {
      auto hosts = reply.object("hosts");
      for (const auto& connection : connections) {
        auto host = hosts.object(connection.host);
        append_connections(host, connection.connected ? 1 : 0, static_cast<int32_t>(connection.created));
      }
    }
    reply.object("replicaSets");
  }
};

}  // namespace

std::unique_ptr<Command> make_conn_pool_stats_command() {
  return std::make_unique<ConnPoolStats>();
}

}  // namespace server
