#include "versions/log/commit_entries.h"

namespace versions::log {

bson::Document CommitBranch::encode() const {
  bson::Builder command;
  command.append(name, branch);
  if (!collections.empty()) {
    auto all = command.array("collections");
    for (const Bytes& one : collections) all.append(binary_of_uuid(one));
  }
  command.append("below", timestamp(held.below));
  {
    auto others = command.array("others");
    for (const Stamp stamp : held.others) others.append(timestamp(stamp));
  }
  made.append_to(command);
  return command.done();
}

CommitBranch CommitBranch::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name),
          .collections = fields.has("collections") ? fields.uuids("collections") : std::vector<Bytes>(),
          .held = {.below = fields.timestamp("below"), .others = fields.timestamps("others")},
          .made = MadeCommit::decode(fields)};
}

bson::Document MakeTree::encode() const {
  bson::Builder command;
  command.append(name, 1).append("commit", binary_of(commit)).append("collection", binary_of_uuid(collection));
  command.append("documents", documents);
  {
    auto kind = command.object("tree");
    versions::append(kind, tree);
  }
  return command.done();
}

MakeTree MakeTree::decode(bson::DocumentView command) {
  const Fields fields(command);
  fields.require_one();
  MakeTree part{.commit = fields.hash("commit"),
                .collection = fields.uuid("collection"),
                .documents = fields.number("documents"),
                .tree = fields.tree("tree")};
  if (part.documents < 1) fields.refuse_field("documents", "at least 1");
  return part;
}

}  // namespace versions::log
