#include "versions/log/retention_entries.h"

namespace versions::log {

bson::Document SetRetention::encode() const {
  bson::Builder command;
  command.append(name, 1);
  if (policy.newest) command.append("newest", static_cast<int64_t>(*policy.newest));
  if (policy.age_ms) command.append("ageMs", *policy.age_ms);
  return command.done();
}

SetRetention SetRetention::decode(bson::DocumentView command) {
  const Fields fields(command);
  fields.require_one();
  const auto positive = [&](std::string_view field) {
    const int64_t value = fields.long_number(field);
    if (value < 1) fields.refuse_field(field, "at least 1");
    return value;
  };
  SetRetention entry;
  if (fields.has("newest")) entry.policy.newest = static_cast<uint64_t>(positive("newest"));
  if (fields.has("ageMs")) entry.policy.age_ms = positive("ageMs");
  return entry;
}

bson::Document SetCommitValidators::encode() const {
  bson::Builder command;
  command.append(name, 1).append("validators", validators);
  return command.done();
}
SetCommitValidators SetCommitValidators::decode(bson::DocumentView command) {
  const Fields fields(command);
  fields.require_one();
  return {.validators = fields.object("validators")};
}

bson::Document Sweep::encode() const {
  bson::Builder command;
  command.append(name, 1);
  {
    auto all = command.array("commits");
    for (const Hash& one : commits) all.append(binary_of(one));
  }
  return command.done();
}
Sweep Sweep::decode(bson::DocumentView command) {
  const Fields fields(command);
  fields.require_one();
  return {.commits = fields.hashes("commits")};
}

bson::Document FreeNodes::encode() const {
  bson::Builder command;
  command.append(name, 1);
  return command.done();
}
FreeNodes FreeNodes::decode(bson::DocumentView command) {
  Fields(command).require_one();
  return {};
}

bson::Document Purge::encode() const {
  bson::Builder command;
  command.append(name, collection).append("_id", id);
  return command.done();
}
Purge Purge::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.collection = fields.text(name), .id = bson::Value(fields.any("_id"))};
}

}  // namespace versions::log
