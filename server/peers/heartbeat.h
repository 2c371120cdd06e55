// Members send each other a heartbeat every two seconds (replSetHeartbeat), and answer it.
//
//   {replSetHeartbeat: "rs0", configVersion: 3, configTerm: 1, from: "db1:27017", fromId: 0, term: 1, primaryId: 0}
//   {ok: 1, set: "rs0", state: 2, v: 3, configTerm: 1, term: 1, opTime: …, durableOpTime: …, …}
//
// The member with the newer configuration sends it along: in its answer, or in its next heartbeat. (In MongoDB the other member
// asks for it instead.)
#pragma once

#include <optional>
#include <string>

#include "bson/builder.h"
#include "bson/document.h"
#include "bson/types.h"
#include "replication/coordinator.h"

namespace server::peers {

using replication::ConfigPlace;
ConfigPlace place_of(const replication::SetConfig* config);  // nullptr: the set isn't initiated

struct HeartbeatRequest {
  std::string set;
  ConfigPlace config;
  std::string from;  // "host:port" of the sender in its configuration
  int32_t from_id = -1;
  int64_t term = -1;
  int32_t primary_id = -1;
  bool check_empty = false;                  // asks whether the receiver has data
  std::optional<bson::Document> new_config;  // newer than the one that the receiver has

  bson::Document document() const;
  // Throws TypeMismatch, or 40414 for a missing field.
  static HeartbeatRequest parse(bson::DocumentView body);
};

struct HeartbeatReply {
  std::string set;
  replication::MemberState state = replication::MemberState::unknown;
  ConfigPlace config{-1, -1};  // until it is known
  int64_t term = -1;
  int32_t primary_id = -1;
  replication::Progress::Place applied;
  replication::Progress::Place durable;
  replication::LogEnd log_end;
  std::optional<bson::Timestamp> election_time;  // only a primary has one
  std::string sync_source;                       // "host:port"; empty: none
  bool electable = false;
  bool has_data = false;  // answers check_empty
  bson::ObjectId set_id;  // zeros: it has none
  std::optional<bson::Document> new_config;

  void append_to(bson::Builder& reply) const;
  // Throws ProtocolError.
  static HeartbeatReply parse(bson::DocumentView reply);
};

// Returns this member's answer. Throws InconsistentReplicaSetNames, InvalidReplicaSetConfig, BadValue as MongoDB does.
HeartbeatReply answer_heartbeat(const HeartbeatRequest& request, const replication::Coordinator& set);

// Returns the member that this one gets its entries from: the leader, if it is known. Empty: there is none.
std::string sync_source(const replication::Standing& standing);
// Returns when the primary was elected, as rs.status() shows it.
bson::Timestamp election_time(const replication::Standing& standing);

}  // namespace server::peers
