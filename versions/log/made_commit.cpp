#include "versions/log/made_commit.h"

namespace versions::log {

MadeCommit MadeCommit::of(const Commit& commit, std::map<Bytes, TreeKind> trees) {
  return {.time_ms = commit.time_ms, .metadata = commit.metadata, .id = commit.id, .trees = std::move(trees)};
}

void MadeCommit::append_to(bson::Builder& command) const {
  command.append("time", bson::Date{time_ms}).append("metadata", bson::Binary{0, metadata}).append("id", binary_of(id));
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
  if (!fields.has("trees")) return made;
  for (const Fields& one : fields.objects("trees")) made.trees.emplace(one.uuid("collection"), one.tree("tree"));
  return made;
}

}  // namespace versions::log
