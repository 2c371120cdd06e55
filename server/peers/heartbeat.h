// replSetHeartbeat: what members ask each other every two seconds, and answer.
//
//   {replSetHeartbeat: "rs0", configVersion: 3, configTerm: 1, from: "db1:27017", fromId: 0, term: 1, primaryId: 0}
//   {ok: 1, set: "rs0", state: 2, v: 3, configTerm: 1, term: 1, opTime: …, durableOpTime: …, …}
//
// Who has the newer configuration sends it along: in the answer, and, what MongoDB leaves to a question back, in the next
// heartbeat.
#pragma once

#include <optional>
#include <string>

#include "bson/builder.h"
#include "bson/document.h"
#include "bson/types.h"
#include "replication/coordinator.h"

namespace server::peers {

using replication::ConfigPlace;
ConfigPlace place_of(const replication::SetConfig* config);  // nullptr: not initiated

struct HeartbeatRequest {
  std::string set;
  ConfigPlace config;
  std::string from;  // "host:port" of the sender in its configuration
  int32_t from_id = -1;
  int64_t term = -1;
  int32_t primary_id = -1;
  bool check_empty = false;                  // answer whether there is data
  std::optional<bson::Document> new_config;  // newer than what the receiver said it has

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
  std::optional<bson::Timestamp> election_time;  // of a primary
  std::string sync_source;                       // "host:port"; empty: none
  bool electable = false;
  bool has_data = false;  // asked for with check_empty
  bson::ObjectId set_id;  // zeros: none
  std::optional<bson::Document> new_config;

  void append_to(bson::Builder& reply) const;
  // Throws ProtocolError.
  static HeartbeatReply parse(bson::DocumentView reply);
};

// What a member answers. Throws InconsistentReplicaSetNames, InvalidReplicaSetConfig, BadValue as MongoDB does.
HeartbeatReply answer_heartbeat(const HeartbeatRequest& request, const replication::Coordinator& set);

// Where this member's entries come from: the leader, while it is known. Empty: none.
std::string sync_source(const replication::Standing& standing);
// When the primary was elected, as rs.status() shows it.
bson::Timestamp election_time(const replication::Standing& standing);

}  // namespace server::peers
