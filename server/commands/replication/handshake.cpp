#include "server/commands/replication/handshake.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "replication/entry.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/topology.h"
#include "server/users/login.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr size_t metadata_bytes_max = 512;
constexpr size_t app_name_bytes_max = 128;
constexpr int32_t wire_version = 21;  // MongoDB 7.0

// Throws as MongoDB does if a driver's `client` document isn't as the handshake specification demands.
ClientMetadata parse_metadata(bson::DocumentView document) {
  const auto refuse = [](int32_t code, const std::string& why) { throw OperationError(code, why); };
  if (document.size() > metadata_bytes_max) {
    refuse(183, "The client metadata document must be less then or equal to " + std::to_string(metadata_bytes_max) + "bytes");
  }
  for (const char* name : {"driver", "os"}) {
    const auto part = document.find(name);
    if (!part.exists()) refuse(182, "Missing required sub-document '" + std::string(name) + "' in the client metadata document");
    if (!part.is_object())
      refuse(14, "The '" + std::string(name) + "' field is required to be a BSON document in the client metadata document");
  }
  for (const char* name : {"name", "version"}) {
    if (!document.find("driver").as_document().find(name).is_string()) {
      refuse(182, "Missing required field '" + std::string(name) + "' in the client metadata document");
    }
  }
  if (!document.find("os").as_document().find("type").is_string())
    refuse(182, "Missing required field 'type' in the client metadata document");
  ClientMetadata metadata{bson::Document(document), {}};
  if (const auto application = document.find("application"); application.exists()) {
    if (!application.is_object()) refuse(14, "The 'application' field must be a BSON document in the client metadata document");
    const auto name = application.as_document().find("name");
    if (name.exists() && !name.is_string())
      refuse(14, "The 'application.name' field must be a string in the client metadata document");
    if (name.is_string()) metadata.app_name = name.as_string();
    if (metadata.app_name.size() > app_name_bytes_max) {
      refuse(180, "The 'application.name' field must be less then or equal to " + std::to_string(app_name_bytes_max) +
                      " bytes in the client metadata document");
    }
  }
  return metadata;
}

void learn_client(Client& client, const bson::Element& given) {
  if (!given.exists()) return;
  if (!given.is_object()) throw OperationError(ErrorCode::type_mismatch, "The client metadata document must be a document");
  auto metadata = parse_metadata(given.as_document());
  const std::string json = bson::to_json(given.as_document());
  if (!client.set_metadata(std::move(metadata))) {
    throw OperationError(186, "The client metadata document may only be sent in the first hello");
  }
  if (!base::log_quiet()) {
    base::log(base::Severity::info, base::LogComponent::network, 51800, "client metadata",
              base::Attributes().add("remote", client.remote()).add("client", client.description()).json("doc", json));
  }
}

// Chooses the compressors that both sides have, in the client's order of preference. Without an offer the earlier choice stays.
void agree_on_compressors(OperationContext& op, const bson::Element& offered) {
  if (!offered.is_array()) return;
  op.client().compressors.clear();
  const auto& ours = op.services().options.compressors;
  for (const auto& name : offered.as_document()) {
    if (name.is_string() && std::find(ours.begin(), ours.end(), name.as_string()) != ours.end()) {
      op.client().compressors.emplace_back(name.as_string());
    }
  }
}

struct AwaitArguments {
  bool given = false;
  bson::ObjectId process_id;
  int64_t counter = 0;
  int64_t max_await_ms = 0;
};

// A request has both topologyVersion and maxAwaitTimeMS, or neither.
AwaitArguments await_arguments(const Request& request) {
  const Arguments arguments(request);
  const auto version = arguments.object("topologyVersion");
  const auto max_await = arguments.integer("maxAwaitTimeMS");
  if (version && !max_await) throw OperationError(31368, "A request with a 'topologyVersion' must include 'maxAwaitTimeMS'");
  if (!version && max_await) throw OperationError(31368, "A request with 'maxAwaitTimeMS' must include a 'topologyVersion'");
  if (!version) return {};
  if (*max_await < 0) throw OperationError(31373, "maxAwaitTimeMS must be a non-negative integer");
  const auto process_id = version->find("processId");
  const auto counter = version->find("counter");
  if (process_id.type() != bson::Type::object_id || counter.type() != bson::Type::int64) {
    throw OperationError(ErrorCode::type_mismatch, "topologyVersion must have an ObjectId 'processId' and a long 'counter'");
  }
  if (counter.as_int64() < 0) throw OperationError(31372, "topologyVersion must have a non-negative counter");
  return {true, process_id.as_object_id(), counter.as_int64(), *max_await};
}

void append_topology_version(bson::Builder& out, const Topology& topology, int64_t counter) {
  auto version = out.object("topologyVersion");
  version.append("processId", topology.process_id()).append("counter", counter);
}

// Returns the same request, which asks for a topology newer than this answer's.
bson::Document asking_for_newer(const Request& request, const Topology& topology, int64_t counter) {
  bson::Builder next;
  for (const auto& field : request.body) {
    if (field.name == "topologyVersion")
      append_topology_version(next, topology, counter);
    else if (field.name != "client")
      next.append_element(field);
  }
  return next.done();
}

void append_place(bson::Builder& out, const char* optime, const char* date, const replication::Progress::Place& place) {
  replication::append_optime(out, optime, place.optime);
  out.append(date, bson::Date{place.wall_ms / 1000 * 1000});
}

bool listed(const replication::MemberConfig& member, std::string_view list) {
  if (member.hidden) return false;
  if (member.arbiter) return list == "arbiters";
  return list == (member.priority > 0 ? "hosts" : "passives");
}

void append_progress(bson::Builder& reply, const replication::Progress& progress) {
  auto last = reply.object("lastWrite");
  append_place(last, "opTime", "lastWriteDate", progress.applied);
  append_place(last, "majorityOpTime", "majorityWriteDate", progress.committed);
}

// "shop.ada" as the user's full name; a user's name may have dots.
access::Name user_named(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == text.npos || dot == 0)
    throw OperationError(ErrorCode::bad_value, "UserName must contain a '.' separated database.user pair");
  return {std::string(text.substr(dot + 1)), std::string(text.substr(0, dot))};
}

// A driver may begin to log in with its first hello. If that fails, the answer has no word of it, and the driver logs in as
// usual.
void begin_login(OperationContext& op, bson::DocumentView given, bson::Builder& reply) try {
  users::Logins& logins = *op.services().logins;
  const auto mechanism = given.find("mechanism"), db = given.find("db"), user = given.find("user");
  const std::string_view its_db = db.is_string() ? db.as_string() : users::external_db;
  if (given.first().name == "saslStart") {
    const auto payload = given.find("payload"), options = given.find("options");
    if (!mechanism.is_string() || payload.type() != bson::Type::binary) return;
    const auto step = logins.start(
        op.client(), {.db = its_db,
                      .mechanism = mechanism.as_string(),
                      .payload = payload.as_binary().bytes,
                      .skip_empty_exchange = options.is_object() && options.as_document().find("skipEmptyExchange").truthy(),
                      .speculative = true});
    auto out = reply.object("speculativeAuthenticate");
    out.append("conversationId", users::Logins::conversation_id)
        .append("done", step.done)
        .append("payload", bson::Binary{0, step.reply});
  } else if (given.first().name == "authenticate") {
    if (!mechanism.is_string() || mechanism.as_string() != "MONGODB-X509") return;
    const access::Name name = logins.by_certificate(op.client(), user.is_string() ? user.as_string() : std::string_view(), true);
    auto out = reply.object("speculativeAuthenticate");
    out.append("dbname", name.db).append("user", name.name);
  }
} catch (const OperationError&) {
  // Logins has logged it.
}

void append_login(OperationContext& op, const Request& request, bson::Builder& reply) {
  if (const auto name = request.body.find("saslSupportedMechs"); name.exists()) {
    if (!name.is_string()) throw OperationError(ErrorCode::type_mismatch, "saslSupportedMechs must be a string");
    auto list = reply.array("saslSupportedMechs");
    for (const std::string& mechanism : op.services().logins->mechanisms_of(user_named(name.as_string()))) list.append(mechanism);
  }
  if (const auto given = request.body.find("speculativeAuthenticate"); given.is_object())
    begin_login(op, given.as_document(), reply);
}

}  // namespace

void append_set(bson::Builder& reply, std::string_view primary_field, const replication::Coordinator& set) {
  const replication::Standing now = set.standing();
  if (!now.config || !now.self) {  // no configuration, or one without this member
    reply.append(primary_field, false)
        .append("secondary", false)
        .append("info", "Does not have a valid replica set config")
        .append("isreplicaset", true);
    return;
  }
  for (const char* list : {"hosts", "passives", "arbiters"}) {
    bool any = false;
    for (const auto& member : now.config->members) any = any || listed(member, list);
    if (!any) continue;
    auto hosts = reply.array(list);
    for (const auto& member : now.config->members) {
      if (listed(member, list)) hosts.append(member.host);
    }
  }
  reply.append("setName", now.config->name).append("setVersion", static_cast<int32_t>(now.config->version));
  reply.append(primary_field, now.state == replication::MemberState::primary && !now.stepping_down);
  reply.append("secondary", now.state == replication::MemberState::secondary);
  if (now.primary) reply.append("primary", now.primary->host);
  const replication::MemberConfig& self = *now.self;
  if (self.arbiter)
    reply.append("arbiterOnly", true);
  else if (self.priority == 0)
    reply.append("passive", true);
  if (self.hidden) reply.append("hidden", true);
  if (!self.build_indexes) reply.append("buildIndexes", false);
  if (self.delay_seconds > 0) reply.append("secondaryDelaySecs", self.delay_seconds);
  if (!self.tags.empty()) reply.append("tags", self.tags);
  reply.append("me", self.host);
  if (now.primary == now.self && now.primary) reply.append("electionId", now.election_id);
  append_progress(reply, set.progress());
}

int64_t Handshake::await_topology_ms(const Services& services, const Request& request) const {
  try {
    const auto asked = await_arguments(request);
    const bool current =
        asked.given && asked.process_id == services.topology.process_id() && asked.counter == services.topology.counter();
    return current ? asked.max_await_ms : 0;
  } catch (const OperationError&) {
    return 0;  // run() reports the error
  }
}

void Handshake::run(OperationContext& op, const Request& request, bson::Builder& reply) {
  Client& client = op.client();
  const Topology& topology = op.services().topology;
  // The counter is read once, before the state: a change in between shows in the next answer, and isn't lost.
  const int64_t counter = topology.counter();
  const auto asked = await_arguments(request);
  if (asked.given && asked.process_id == topology.process_id() && asked.counter > counter) {
    throw OperationError(31382, "Received a topology version with counter: " + std::to_string(asked.counter) +
                                    " which is greater than the server topology version counter: " + std::to_string(counter));
  }
  learn_client(client, request.body.find("client"));
  if (request.body.find("helloOk").truthy()) client.sent_hello_ok = true;
  if (!asked.given) agree_on_compressors(op, request.body.find("compression"));

  if (client.sent_hello_ok) reply.append("helloOk", true);
  replication::Coordinator* set = op.services().replica_set;
  if (!set) reply.append(primary_field_, true);
  append_topology_version(reply, topology, counter);
  if (set) append_set(reply, primary_field_, *set);
  reply.append("maxBsonObjectSize", static_cast<int32_t>(bson::document_bytes_max))
      .append("maxMessageSizeBytes", 48'000'000)
      .append("maxWriteBatchSize", 100'000)
      .append("localTime", bson::Date{op.services().clock.wall_ms()})
      .append("logicalSessionTimeoutMinutes", static_cast<int32_t>(op.services().sessions.timeout_minutes.load()))
      .append("connectionId", static_cast<int32_t>(client.id()))
      .append("minWireVersion", 0)
      .append("maxWireVersion", wire_version)
      .append("readOnly", false);
  if (!client.compressors.empty()) {
    auto compression = reply.array("compression");
    for (const auto& name : client.compressors) compression.append(name);
  }
  if (!asked.given && op.services().logins) append_login(op, request, reply);
  if (asked.given && op.exhaust_allowed) op.next_invocation = asking_for_newer(request, topology, counter);
}

}  // namespace server
