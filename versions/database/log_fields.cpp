#include "versions/database/log_fields.h"

namespace versions::log {

namespace {

bson::Timestamp timestamp(Stamp stamp) {
  return {static_cast<uint32_t>(stamp >> 32), static_cast<uint32_t>(stamp)};
}

bson::ValueView field_of(bson::DocumentView command, std::string_view field, bson::Type type) {
  const auto value = command.find(field);
  if (value.type() != type) refuse("no " + std::string(field) + " in a change of branches");
  return static_cast<bson::ValueView>(value);
}

}  // namespace

void refuse(const std::string& what) {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, what);
}

void append(bson::Builder& command, const Commit& commit, const CommitInfo& info) {
  command.append("time", bson::Date{commit.time_ms})
      .append("metadata", bson::Binary{0, commit.metadata})
      .append("id", id(commit));
  if (info.trees.empty()) return;
  auto trees = command.array("trees");
  for (const auto& [label, kind] : info.trees) {
    auto one = trees.object();
    one.append("collection", bson::Binary{4, label});
    auto tree = one.object("tree");
    versions::append(tree, kind);
  }
}

void append(bson::Builder& command, std::string_view field, Stamp stamp) {
  command.append(field, timestamp(stamp));
}

void append(bson::Builder& command, const Held& held) {
  append(command, "below", held.below);
  auto others = command.array("others");
  for (const Stamp stamp : held.others) others.append(timestamp(stamp));
}

CommitInfo commit_info(bson::DocumentView command) {
  CommitInfo info{field_of(command, "time", bson::Type::date).as_date().ms, Bytes(binary(command, "metadata"))};
  if (!command.find("trees").exists()) return info;
  for (const auto& one : array(command, "trees")) {
    if (!one.is_object()) refuse("the trees of a commit can't be read");
    info.trees.emplace(binary(one.as_document(), "collection"), tree_kind(one.as_document()));
  }
  return info;
}

TreeKind tree_kind(bson::DocumentView command) {
  return read_tree_kind(object(command, "tree"));
}

Held held(bson::DocumentView command) {
  Held held{.below = stamp(command, "below")};
  for (const auto& one : array(command, "others")) {
    if (one.type() != bson::Type::timestamp) refuse("the writes that a commit holds can't be read");
    held.others.push_back(one.as_timestamp().packed());
  }
  return held;
}

std::string text(bson::DocumentView command, std::string_view field) {
  return std::string(field_of(command, field, bson::Type::string).as_string());
}
bson::DocumentView object(bson::DocumentView command, std::string_view field) {
  return field_of(command, field, bson::Type::object).as_document();
}
BytesView binary(const bson::ValueView& value) {
  if (value.type() != bson::Type::binary) refuse("a name in a change of branches can't be read");
  return value.as_binary().bytes;
}
BytesView binary(bson::DocumentView command, std::string_view field) {
  return binary(command.find(field));
}

RetentionPolicy retention(bson::DocumentView command) {
  RetentionPolicy policy;
  const auto newest = command.find("newest"), age = command.find("ageMs");
  if (newest.is_number()) policy.newest = static_cast<uint64_t>(newest.to_int64());
  if (age.is_number()) policy.age_ms = age.to_int64();
  return policy;
}

bson::DocumentView array(bson::DocumentView command, std::string_view field) {
  return field_of(command, field, bson::Type::array).as_document();
}
Stamp stamp(bson::DocumentView command, std::string_view field) {
  return field_of(command, field, bson::Type::timestamp).as_timestamp().packed();
}
int64_t number(bson::DocumentView command, std::string_view field) {
  return field_of(command, field, bson::Type::int32).as_int32();
}

CommitNumber commit(Transaction& transaction, const VersionGraph& graph, const bson::ValueView& id) {
  const auto found = graph.find(transaction, base::to_hex(binary(id)));
  if (!found) refuse("a change of branches is about a commit that isn't here");
  return *found;
}
CommitNumber commit(Transaction& transaction, const VersionGraph& graph, bson::DocumentView command, std::string_view field) {
  return commit(transaction, graph, command.find(field));
}

}  // namespace versions::log
