#include "versions/log/made_commit.h"

namespace versions::log {

MadeCommit MadeCommit::of(const Commit& commit, const CommitInfo& info) {
  return {.time_ms = commit.time_ms, .metadata = commit.metadata, .id = commit.id, .trees = info.trees, .graft = info.graft};
}

void MadeCommit::append_to(bson::Builder& command) const {
  command.append("time", bson::Date{time_ms}).append("metadata", bson::Binary{0, metadata}).append("id", binary_of(id));
  if (graft) {
    auto out = command.object("graft");
    {
      auto parents = out.array("parents");
      for (const Hash& one : graft->parents) parents.append(binary_of(one));
    }
    {
      auto collections = out.array("collections");
      for (const Bytes& one : graft->collections) collections.append(binary_of_uuid(one));
    }
    out.append("saysNothing", graft->says_nothing);
  }
  if (trees.empty()) return;
  auto all = command.array("trees");
  for (const auto& [collection, kind] : trees) {
    auto one = all.object();
    one.append("collection", binary_of_uuid(collection));
    auto tree = one.object("tree");
    versions::append(tree, kind);
  }
}

MadeCommit MadeCommit::decode(const Fields& fields) {
  MadeCommit made{.time_ms = fields.date_ms("time"), .metadata = fields.bytes("metadata"), .id = fields.hash("id"), .trees = {}};
  if (fields.has("graft")) {
    const bson::Document graft = fields.object("graft");
    const Fields in(graft.view());
    const bson::ValueView nothing = in.any("saysNothing");
    if (nothing.type() != bson::Type::boolean) in.refuse_field("saysNothing", "a boolean");
    made.graft = Graft{in.hashes("parents"), in.uuids("collections"), nothing.as_bool()};
  }
  if (!fields.has("trees")) return made;
  for (const Fields& one : fields.objects("trees")) made.trees.emplace(one.uuid("collection"), one.tree("tree"));
  return made;
}

}  // namespace versions::log
