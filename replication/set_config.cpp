#include "replication/set_config.h"

#include <cmath>
#include <functional>
#include <initializer_list>

#include "base/error.h"
#include "bson/builder.h"

namespace replication {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::Element;
using bson::Type;

constexpr size_t members_max = 50;
constexpr int voters_max = 7;
constexpr int64_t version_max = 2147483647;
constexpr int64_t delay_seconds_max = 366LL * 24 * 60 * 60;

[[noreturn]] void invalid(const std::string& why) {
  throw OperationError(ErrorCode::invalid_replica_set_config, why);
}
[[noreturn]] void incompatible(const std::string& why) {
  throw OperationError(ErrorCode::new_config_incompatible, why);
}

std::string number(double value) {
  std::string text = std::to_string(value);
  while (text.ends_with('0')) text.pop_back();
  if (text.ends_with('.')) text.pop_back();
  return text;
}

// The fields of one document, each read at most once and in any order.
class Fields {
 public:
  Fields(std::string path, bson::DocumentView document, std::initializer_list<std::string_view> known)
      : path_(std::move(path)), document_(document) {
    for (const Element& field : document) {
      bool found = false;
      for (std::string_view name : known) found = found || name == field.name;
      if (!found) throw OperationError(40415, "BSON field '" + dotted(field.name) + "' is an unknown field.");
    }
  }

  std::string text(std::string_view name) const {
    return std::string(typed(name, "string", [](const Element& e) { return e.is_string(); }).as_string());
  }
  bool boolean(std::string_view name, bool otherwise) const {
    const Element value = optional(name, "bool", [](const Element& e) { return e.type() == Type::boolean || e.is_number(); });
    return value.exists() ? value.truthy() : otherwise;
  }
  double real(std::string_view name, double otherwise) const {
    const Element value = optional(name, "double", [](const Element& e) { return e.is_number(); });
    return value.exists() ? value.to_double() : otherwise;
  }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const Element value = optional(name, "long", [](const Element& e) { return e.is_number(); });
    if (!value.exists()) return otherwise;
    if (value.to_double() != std::floor(value.to_double())) {
      throw OperationError(ErrorCode::bad_value, "Expected field \"" + std::string(name) +
                                                     "\" to have a value exactly representable as a 64-bit integer");
    }
    return value.to_int64();
  }
  bson::Document object(std::string_view name) const {
    const Element value = optional(name, "object", [](const Element& e) { return e.is_object(); });
    return value.exists() ? bson::Document(value.as_document()) : bson::Document();
  }
  Element required(std::string_view name) const {
    const Element value = document_[name];
    if (!value.exists()) throw OperationError(40414, "BSON field '" + dotted(name) + "' is missing but a required field");
    return value;
  }
  Element any(std::string_view name) const { return document_[name]; }
  [[noreturn]] void wrong_type(std::string_view name, const Element& value, std::string_view wanted) const {
    throw OperationError(ErrorCode::type_mismatch, "BSON field '" + dotted(name) + "' is the wrong type '" +
                                                       std::string(bson::type_name(value.type())) + "', expected type '" +
                                                       std::string(wanted) + "'");
  }

 private:
  using Test = std::function<bool(const Element&)>;
  std::string dotted(std::string_view name) const { return path_ + "." + std::string(name); }
  Element optional(std::string_view name, std::string_view wanted, const Test& right) const {
    const Element value = document_[name];
    if (value.is_nullish()) return {};
    if (!right(value)) wrong_type(name, value, wanted);
    return value;
  }
  Element typed(std::string_view name, std::string_view wanted, const Test& right) const {
    const Element value = required(name);
    if (!right(value)) wrong_type(name, value, wanted);
    return value;
  }

  std::string path_;
  bson::DocumentView document_;
};

// "host" means port 27017, as everywhere in MongoDB.
std::string with_port(const std::string& host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  const bool has_port = colon != host.npos && (bracket == host.npos || colon > bracket);
  if (host.empty() || colon == 0)
    throw OperationError(ErrorCode::failed_to_parse, "Empty host component parsing HostAndPort from \"" + host + "\"");
  if (!has_port) return host + ":27017";
  const std::string port = host.substr(colon + 1);
  const bool digits = !port.empty() && port.size() <= 5 && port.find_first_not_of("0123456789") == port.npos;
  if (!digits || std::stoi(port) < 1 || std::stoi(port) > 65535) {
    throw OperationError(ErrorCode::failed_to_parse,
                         "Port number " + port + " out of range parsing HostAndPort from \"" + host + "\"");
  }
  return host;
}

MemberConfig parse_member(bson::DocumentView document) {
  const Fields fields("ReplSetConfig.members", document,
                      {"_id", "host", "arbiterOnly", "buildIndexes", "hidden", "priority", "tags", "secondaryDelaySecs",
                       "slaveDelay", "votes", "horizons", "newlyAdded"});
  MemberConfig member;
  const Element id = fields.required("_id");
  if (!id.is_number()) fields.wrong_type("_id", id, "long");
  const int64_t given_id = id.to_int64();
  if (given_id < 0 || given_id > 255) {
    invalid("_id field value of " + std::to_string(given_id) + " is out of range.");
  }
  member.id = static_cast<int32_t>(given_id);
  member.host = with_port(fields.text("host"));
  member.arbiter = fields.boolean("arbiterOnly", false);
  member.build_indexes = fields.boolean("buildIndexes", true);
  member.hidden = fields.boolean("hidden", false);
  member.priority = fields.real("priority", member.arbiter ? 0 : 1);
  member.tags = fields.object("tags");
  member.delay_seconds = fields.integer("secondaryDelaySecs", 0);
  const int64_t votes = fields.integer("votes", 1);
  if (fields.any("slaveDelay").exists()) invalid("slaveDelay is no longer supported; use secondaryDelaySecs");
  if (fields.any("newlyAdded").exists()) invalid("The newlyAdded field is set by the server alone");
  if (const Element horizons = fields.any("horizons"); horizons.exists()) {
    if (!horizons.is_object()) fields.wrong_type("horizons", horizons, "object");
    if (!horizons.as_document().empty()) invalid("horizons are not supported: every client reaches a member under its host");
  }
  if (votes != 0 && votes != 1) invalid("votes field value is " + std::to_string(votes) + " but must be 0 or 1");
  member.votes = static_cast<int32_t>(votes);
  if (!(member.priority >= 0 && member.priority <= 1000)) {
    invalid("priority field value of " + number(member.priority) + " is out of range");
  }
  for (const Element& tag : member.tags) {
    if (!tag.is_string()) {
      throw OperationError(ErrorCode::type_mismatch, "tags." + std::string(tag.name) + " field has non-string value of type " +
                                                         std::string(bson::type_name(tag.type())));
    }
  }
  if (member.arbiter) {
    if (!member.tags.empty()) invalid("Cannot set tags on arbiters.");
    if (member.votes == 0) invalid("Arbiter must vote (cannot have 0 votes)");
    if (member.priority > 0) invalid("Arbiters must have priority 0");
  }
  if (member.delay_seconds < 0 || member.delay_seconds > delay_seconds_max) {
    invalid("secondaryDelaySecs field value of " + std::to_string(member.delay_seconds) + " seconds is out of range");
  }
  if (member.delay_seconds > 0 && member.priority > 0) invalid("priority must be 0 when secondaryDelaySecs is used");
  if (member.votes == 0 && member.priority > 0) invalid("priority must be 0 when non-voting (votes:0)");
  if (member.hidden && member.priority > 0) invalid("priority must be 0 when hidden=true");
  if (!member.build_indexes && member.priority > 0) invalid("priority must be 0 when buildIndexes=false");
  if (!member.build_indexes) invalid("members without indexes (buildIndexes: false) are not supported");
  return member;
}

int64_t at_least(int64_t value, int64_t least, const char* name) {
  if (value < least) {
    throw OperationError(ErrorCode::bad_value, std::string("BSON field '") + name + "' value must be >= " +
                                                   std::to_string(least) + ", actual value '" + std::to_string(value) + "'");
  }
  return value;
}

void parse_settings(bson::DocumentView document, SetConfig& config) {
  const Fields fields(
      "ReplSetConfig.settings", document,
      {"chainingAllowed", "heartbeatIntervalMillis", "heartbeatTimeoutSecs", "electionTimeoutMillis", "catchUpTimeoutMillis",
       "catchUpTakeoverDelayMillis", "getLastErrorModes", "getLastErrorDefaults", "replicaSetId"});
  config.chaining = fields.boolean("chainingAllowed", true);
  config.heartbeat_interval_ms = at_least(fields.integer("heartbeatIntervalMillis", 2000), 1, "heartbeatIntervalMillis");
  config.heartbeat_timeout_s = at_least(fields.integer("heartbeatTimeoutSecs", 10), 1, "heartbeatTimeoutSecs");
  config.election_timeout_ms =
      at_least(fields.integer("electionTimeoutMillis", config.election_timeout_ms), 1, "electionTimeoutMillis");
  config.catch_up_timeout_ms = at_least(fields.integer("catchUpTimeoutMillis", -1), -1, "catchUpTimeoutMillis");
  config.catch_up_takeover_ms = at_least(fields.integer("catchUpTakeoverDelayMillis", 30'000), -1, "catchUpTakeoverDelayMillis");
  config.write_modes = fields.object("getLastErrorModes");
  config.default_write = fields.object("getLastErrorDefaults");
  if (const Element id = fields.any("replicaSetId"); id.exists()) {
    if (id.type() != Type::object_id) fields.wrong_type("replicaSetId", id, "objectId");
    config.set_id = id.as_object_id();
    if (config.set_id == bson::ObjectId()) invalid("replicaSetId field value cannot be an empty OID");
  }
}

void check_default_write(bson::DocumentView given) {
  for (const Element& field : given) {
    const bool one = field.name == "w" && field.is_number() && field.to_double() == 1;
    const bool none = (field.name == "wtimeout" || field.name == "j" || field.name == "fsync") && !field.truthy();
    if (!one && !none) {
      invalid(
          "getLastErrorDefaults can't be changed from { w: 1, wtimeout: 0 }; setDefaultRWConcern sets the default write concern");
    }
  }
}

// Every tag a mode names must stand at enough members with values of its own.
void check_write_modes(const SetConfig& config) {
  for (const Element& mode : config.write_modes) {
    const std::string name = "getLastErrorModes." + std::string(mode.name);
    if (!mode.is_object()) invalid("Expected '" + name + "' to be an Object, not " + std::string(bson::type_name(mode.type())));
    for (const Element& constraint : mode.as_document()) {
      if (!constraint.is_number()) {
        invalid("Expected '" + name + "." + std::string(constraint.name) + "' to be a number, not " +
                std::string(bson::type_name(constraint.type())));
      }
      if (constraint.to_int64() <= 0)
        invalid("Value of " + name + "." + std::string(constraint.name) + " must be positive, but found " +
                std::to_string(constraint.to_int64()));
      bool known = false;
      for (const MemberConfig& member : config.members) known = known || member.tags.has(constraint.name);
      if (!known)
        invalid("Tag '" + std::string(constraint.name) + "' required by mode '" + std::string(mode.name) +
                "' is not present in any member");
    }
  }
}

bool is_localhost(const std::string& host) {
  return host.starts_with("localhost:") || host.starts_with("127.") || host.starts_with("[::1]:");
}

void check_whole(const SetConfig& config) {
  if (config.version < 1 || config.version > version_max)
    invalid("version field value of " + std::to_string(config.version) + " is out of range");
  if (config.name.empty()) invalid("Replica set configuration must have non-empty _id field");
  if (config.members.empty() || config.members.size() > members_max) {
    invalid("Replica set configuration contains " + std::to_string(config.members.size()) +
            " members, but must have at least 1 and no more than  " + std::to_string(members_max));
  }
  size_t local = 0;
  int voters = 0;
  bool electable = false;
  for (size_t i = 0; i < config.members.size(); ++i) {
    const MemberConfig& member = config.members[i];
    for (size_t j = 0; j < i; ++j) {
      const std::string one = "members." + std::to_string(j), other = "members." + std::to_string(i);
      if (config.members[j].id == member.id) {
        invalid("Found two member configurations with same _id field, " + one + "._id == " + other +
                "._id == " + std::to_string(member.id));
      }
      if (config.members[j].host == member.host) {
        invalid("Found two member configurations with same host field, " + one + ".host == " + other + ".host == " + member.host);
      }
    }
    local += is_localhost(member.host);
    voters += member.votes;
    electable = electable || member.electable();
  }
  if (local != 0 && local != config.members.size()) {
    invalid("Either all host names in a replica set configuration must be localhost references, or none must be; found " +
            std::to_string(local) + " out of " + std::to_string(config.members.size()));
  }
  if (voters == 0 || voters > voters_max) {
    invalid("Replica set configuration contains " + std::to_string(voters) +
            " voting members, but must be at least 1 and no more than " + std::to_string(voters_max));
  }
  if (!electable) invalid("Replica set configuration must contain at least one non-arbiter member with priority > 0");
  check_write_modes(config);
  check_default_write(config.default_write);
}

}  // namespace

bool ConfigPlace::newer_than(const ConfigPlace& other) const {
  if (term != -1 && other.term != -1 && term != other.term) return term > other.term;
  return version > other.version;
}

SetConfig parse_set_config(bson::DocumentView document) {
  const Fields fields(
      "ReplSetConfig", document,
      {"_id", "version", "term", "members", "protocolVersion", "writeConcernMajorityJournalDefault", "settings", "configsvr"});
  SetConfig config;
  config.name = fields.text("_id");
  config.version = fields.integer("version", 1);
  config.term = fields.integer("term", -1);
  if (config.term < -1) invalid("term field value of " + std::to_string(config.term) + " is out of range");
  if (fields.boolean("configsvr", false))
    invalid("Nodes being used for config servers must be started with the --configsvr flag");
  const int64_t protocol = fields.integer("protocolVersion", 1);
  if (protocol != 1) invalid("protocolVersion of " + std::to_string(protocol) + " is not supported by this version");
  config.majority_journaled = fields.boolean("writeConcernMajorityJournalDefault", true);
  if (!config.majority_journaled)
    invalid("writeConcernMajorityJournalDefault: false is not supported: a majority is always one of disks");
  const Element members = fields.required("members");
  if (!members.is_array()) fields.wrong_type("members", members, "array");
  for (const Element& member : members.as_document()) {
    if (!member.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field 'ReplSetConfig.members." + std::string(member.name) +
                                                         "' is the wrong type '" + std::string(bson::type_name(member.type())) +
                                                         "', expected type 'object'");
    }
    config.members.push_back(parse_member(member.as_document()));
  }
  parse_settings(fields.object("settings"), config);
  check_whole(config);
  return config;
}

bson::Document SetConfig::document() const {
  bson::Builder out;
  out.append("_id", name).append("version", static_cast<int32_t>(version));
  if (term >= 0) out.append("term", term);
  {
    auto list = out.array("members");
    for (const MemberConfig& member : members) {
      auto one = list.object();
      one.append("_id", member.id)
          .append("host", member.host)
          .append("arbiterOnly", member.arbiter)
          .append("buildIndexes", member.build_indexes);
      one.append("hidden", member.hidden).append("priority", member.priority).append("tags", member.tags);
      one.append("secondaryDelaySecs", member.delay_seconds).append("votes", member.votes);
    }
  }
  out.append("protocolVersion", int64_t{1}).append("writeConcernMajorityJournalDefault", majority_journaled);
  {
    auto settings = out.object("settings");
    settings.append("chainingAllowed", chaining).append("heartbeatIntervalMillis", static_cast<int32_t>(heartbeat_interval_ms));
    settings.append("heartbeatTimeoutSecs", static_cast<int32_t>(heartbeat_timeout_s))
        .append("electionTimeoutMillis", static_cast<int32_t>(election_timeout_ms));
    settings.append("catchUpTimeoutMillis", static_cast<int32_t>(catch_up_timeout_ms));
    settings.append("catchUpTakeoverDelayMillis", static_cast<int32_t>(catch_up_takeover_ms))
        .append("getLastErrorModes", write_modes);
    {
      auto defaults = settings.object("getLastErrorDefaults");
      defaults.append("w", 1).append("wtimeout", 0);
    }
    if (set_id != bson::ObjectId()) settings.append("replicaSetId", set_id);
  }
  return out.done();
}

const MemberConfig* SetConfig::member(std::string_view host) const {
  for (const MemberConfig& one : members) {
    if (one.host == host) return &one;
  }
  return nullptr;
}

void check_reconfig(const SetConfig& now, const SetConfig& next, bool force) {
  if (now.name != next.name) {
    incompatible("New and old configurations differ in replica set name; old was " + now.name + ", and new is " + next.name);
  }
  if (!force && next.version <= now.version) {
    incompatible("New replica set configuration version must be greater than old, but " + std::to_string(next.version) +
                 " is not greater than " + std::to_string(now.version) + " for replica set " + next.name);
  }
  if (next.set_id != bson::ObjectId() && next.set_id != now.set_id) {
    incompatible("New and old configurations differ in replica set ID; old was " + now.set_id.to_hex() + ", and new is " +
                 next.set_id.to_hex());
  }
  int added = 0, removed = 0;
  for (const MemberConfig& member : next.members) {
    const MemberConfig* before = now.member(member.host);
    if (before && before->id != member.id) {
      incompatible("New and old configurations both have members with host field but in new configuration the _id field is " +
                   std::to_string(member.id) + " and in the old configuration it is " + std::to_string(before->id) +
                   " for host " + member.host);
    }
    if (before && before->arbiter != member.arbiter) {
      incompatible("New and old configurations differ in the setting of the arbiterOnly field for member " + member.host +
                   "; to make this change, remove then re-add the member");
    }
    if (before && before->build_indexes != member.build_indexes) {
      incompatible("New and old configurations differ in the setting of the buildIndexes field for member " + member.host +
                   "; to make this change, remove then re-add the member");
    }
    added += member.votes && !(before && before->votes);
  }
  for (const MemberConfig& member : now.members) {
    const MemberConfig* after = next.member(member.host);
    removed += member.votes && !(after && after->votes);
  }
  if (!force && added + removed > 1)
    incompatible("Non force replica set reconfig can only add or remove at most 1 voting member.");
}

}  // namespace replication
