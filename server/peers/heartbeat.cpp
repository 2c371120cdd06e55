#include "server/peers/heartbeat.h"

#include <limits>

#include "bson/builder.h"
#include "replication/entry.h"
#include "server/core/arguments.h"

namespace server::peers {

using base::ErrorCode;
using base::OperationError;
using replication::MemberState;
using replication::OpTime;

namespace {

// Reads the fields of a reply; a field of a wrong type is a ProtocolError.
class ReplyFields {
 public:
  explicit ReplyFields(bson::DocumentView reply) : reply_(reply) {}

  int64_t integer(std::string_view name, int64_t otherwise) const {
    const auto value = reply_[name];
    if (!value.exists()) return otherwise;
    if (!value.is_number()) wrong(name);
    return value.to_int64();
  }
  std::string text(std::string_view name) const {
    const auto value = reply_[name];
    if (!value.exists()) return {};
    if (!value.is_string()) wrong(name);
    return std::string(value.as_string());
  }
  OpTime optime(std::string_view name) const {
    const auto value = reply_[name];
    if (!value.exists()) return replication::no_optime;
    if (!value.is_object()) wrong(name);
    const auto ts = value.as_document()["ts"], t = value.as_document()["t"];
    if (ts.type() != bson::Type::timestamp || !t.is_number()) wrong(name);
    return {replication::stamp_of(ts.as_timestamp()), t.to_int64()};
  }
  int64_t date(std::string_view name) const {
    const auto value = reply_[name];
    if (!value.exists()) return 0;
    if (value.type() != bson::Type::date) wrong(name);
    return value.as_date().ms;
  }
  bson::Element typed(std::string_view name, bson::Type type) const {
    const auto value = reply_[name];
    if (value.exists() && value.type() != type) wrong(name);
    return value;
  }
  [[noreturn]] static void wrong(std::string_view name) {
    throw OperationError(ErrorCode::protocol_error, "a heartbeat's answer has no sense in its field '" + std::string(name) + "'");
  }

 private:
  bson::DocumentView reply_;
};

MemberState state_from(int64_t number) {
  for (const MemberState state :
       {MemberState::startup, MemberState::primary, MemberState::secondary, MemberState::recovering, MemberState::startup2,
        MemberState::unknown, MemberState::arbiter, MemberState::down, MemberState::rollback, MemberState::removed}) {
    if (static_cast<int64_t>(state) == number) return state;
  }
  ReplyFields::wrong("state");
}

}  // namespace

ConfigPlace place_of(const replication::SetConfig* config) {
  return config ? config->place() : ConfigPlace{};
}

bson::Document HeartbeatRequest::document() const {
  bson::Builder out;
  out.append("replSetHeartbeat", set).append("configVersion", config.version).append("configTerm", config.term);
  out.append("hbv", 1).append("from", from).append("fromId", from_id).append("term", term).append("primaryId", primary_id);
  if (check_empty) out.append("checkEmpty", true);
  if (new_config) out.append("config", *new_config);
  return out.done();
}

HeartbeatRequest HeartbeatRequest::parse(bson::DocumentView body) {
  const Arguments arguments("replSetHeartbeat", body);
  HeartbeatRequest request;
  request.set = arguments.required_string("replSetHeartbeat");
  request.config = {arguments.required_integer("configVersion"), arguments.integer("configTerm").value_or(-1)};
  request.from = arguments.string("from").value_or("");
  request.from_id = static_cast<int32_t>(arguments.integer("fromId").value_or(-1));
  request.term = arguments.integer("term").value_or(-1);
  request.primary_id = static_cast<int32_t>(arguments.integer("primaryId").value_or(-1));
  request.check_empty = arguments.loose_boolean("checkEmpty").value_or(false);
  if (const auto config = arguments.object("config")) request.new_config = bson::Document(*config);
  return request;
}

void HeartbeatReply::append_to(bson::Builder& reply) const {
  reply.append("state", static_cast<int32_t>(state))
      .append("v", config.version)
      .append("configTerm", config.term)
      .append("set", set);
  reply.append("term", term);
  if (primary_id >= 0) reply.append("primaryId", primary_id);
  replication::append_optime(reply, "durableOpTime", durable.optime);
  reply.append("durableWallTime", bson::Date{durable.wall_ms});
  replication::append_optime(reply, "appliedOpTime", applied.optime);
  replication::append_optime(reply, "opTime", applied.optime);
  reply.append("logTerm", log_end.term).append("logIndex", log_end.index);
  reply.append("wallTime", bson::Date{applied.wall_ms}).append("electable", electable);
  if (!sync_source.empty()) reply.append("syncingTo", sync_source);
  if (election_time) reply.append("electionTime", *election_time);
  if (has_data) reply.append("hasData", true);
  if (set_id != bson::ObjectId()) reply.append("replicaSetId", set_id);
  if (new_config) reply.append("config", *new_config);
}

HeartbeatReply HeartbeatReply::parse(bson::DocumentView document) {
  const ReplyFields fields(document);
  HeartbeatReply reply;
  reply.set = fields.text("set");
  if (reply.set.empty()) ReplyFields::wrong("set");
  reply.state = state_from(fields.integer("state", -1));
  reply.config = {fields.integer("v", -3), fields.integer("configTerm", -1)};
  if (reply.config.version < -2) ReplyFields::wrong("v");
  reply.term = fields.integer("term", -1);
  const int64_t primary = fields.integer("primaryId", -1);
  if (primary < -1 || primary > std::numeric_limits<int32_t>::max()) ReplyFields::wrong("primaryId");
  reply.primary_id = static_cast<int32_t>(primary);
  reply.applied = {fields.optime("opTime"), fields.date("wallTime")};
  reply.durable = {fields.optime("durableOpTime"), fields.date("durableWallTime")};
  reply.log_end = {fields.integer("logTerm", -1), fields.integer("logIndex", 0)};
  if (const auto time = fields.typed("electionTime", bson::Type::timestamp); time.exists())
    reply.election_time = time.as_timestamp();
  reply.sync_source = fields.text("syncingTo");
  reply.electable = document["electable"].truthy();
  reply.has_data = document["hasData"].truthy();
  if (const auto id = fields.typed("replicaSetId", bson::Type::object_id); id.exists()) reply.set_id = id.as_object_id();
  if (const auto config = fields.typed("config", bson::Type::object); config.exists())
    reply.new_config = bson::Document(config.as_document());
  return reply;
}

HeartbeatReply answer_heartbeat(const HeartbeatRequest& request, const replication::Coordinator& set) {
  if (request.set != set.set_name()) {
    throw OperationError(ErrorCode::inconsistent_set_names, "Our set name of " + set.set_name() + " does not match name " +
                                                                request.set + " reported by remote node");
  }
  const replication::Standing now = set.standing();
  // A sender with a newer configuration gets an answer even if this member isn't in its own: the newer one may name it, and comes
  // with the next heartbeat.
  const ConfigPlace own = place_of(now.config.get());
  if (now.config && !now.self && !request.config.newer_than(own)) {
    throw OperationError(ErrorCode::invalid_replica_set_config,
                         "Our replica set configuration is invalid or does not include us");
  }
  if (now.self && request.from_id == now.self->id) {
    throw OperationError(ErrorCode::bad_value,
                         "Received heartbeat from member with the same member ID as ourself: " + std::to_string(request.from_id));
  }
  HeartbeatReply reply;
  reply.set = set.set_name();
  reply.state = now.state;
  reply.config = own;
  reply.term = now.term;
  if (now.primary) reply.primary_id = now.primary->id;
  const replication::Progress progress = set.progress();
  reply.applied = progress.applied;
  reply.durable = progress.durable;
  reply.log_end = set.log_end();
  reply.sync_source = sync_source(now);
  if (now.state == MemberState::primary) reply.election_time = election_time(now);
  if (!now.config) return reply;
  reply.electable =
      now.self && now.self->electable() && (now.state == MemberState::primary || now.state == MemberState::secondary);
  reply.set_id = now.config->set_id;
  if (reply.config.newer_than(request.config)) reply.new_config = now.config->document();
  return reply;
}

std::string sync_source(const replication::Standing& standing) {
  const bool follows = standing.state == MemberState::secondary || standing.state == MemberState::recovering ||
                       standing.state == MemberState::startup2;
  return follows && standing.primary && standing.primary != standing.self ? standing.primary->host : std::string();
}

bson::Timestamp election_time(const replication::Standing& standing) {
  if (standing.elected_ms <= 0) return {};
  return {static_cast<uint32_t>(standing.elected_ms / 1000), 1};
}

}  // namespace server::peers
