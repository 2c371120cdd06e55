#include "versions/log/merge_entries.h"

namespace versions::log {

bson::Document MergeBranch::encode() const {
  bson::Builder command;
  command.append(name, into).append("from", binary_of(from)).append("parents", parents);
  command.append("generation", timestamp(generation));
  {
    auto all = command.array("roots");
    for (const Root& one : roots) {
      auto root = all.object();
      root.append("collection", binary_of_uuid(one.collection)).append("root", binary_of(one.root));
    }
  }
  made.append_to(command);
  if (imported) {
    auto all = command.array("imported");
    for (const Named& one : named) {
      auto document = all.object();
      document.append("collection", binary_of_uuid(one.collection)).append("key", bson::Binary{0, one.key});
      if (one.hash) document.append("hash", binary_of(*one.hash));
    }
  }
  return command.done();
}

MergeBranch MergeBranch::decode(bson::DocumentView command) {
  const Fields fields(command);
  MergeBranch merge{.into = fields.text(name),
                    .from = fields.hash("from"),
                    .parents = fields.number("parents"),
                    .generation = fields.timestamp("generation"),
                    .roots = {},
                    .made = MadeCommit::decode(fields),
                    .imported = fields.has("imported")};
  if (merge.parents != 1 && merge.parents != 2) fields.refuse_field("parents", "1 or 2");
  for (const Fields& one : fields.objects("roots")) merge.roots.push_back({one.uuid("collection"), one.hash("root")});
  if (!merge.imported) return merge;
  for (const Fields& one : fields.objects("imported")) {
    merge.named.push_back(
        {one.uuid("collection"), one.bytes("key"), one.has("hash") ? std::optional(one.hash("hash")) : std::nullopt});
  }
  return merge;
}

bson::Document AdvanceBranch::encode() const {
  bson::Builder command;
  command.append(name, branch).append("commit", binary_of(commit));
  return command.done();
}
AdvanceBranch AdvanceBranch::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name), .commit = fields.hash("commit")};
}

bson::Document BeginMerge::encode() const {
  bson::Builder command;
  command.append(name, into).append("commit", binary_of(commit)).append("request", request);
  return command.done();
}
BeginMerge BeginMerge::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.into = fields.text(name), .commit = fields.hash("commit"), .request = fields.object("request")};
}

bson::Document Decide::encode() const {
  bson::Builder command;
  command.append(name, into).append("collection", binary_of_uuid(collection)).append("key", bson::Binary{0, key});
  command.append("take", static_cast<int32_t>(decision.take)).append("sides", binary_of(decision.sides));
  command.append("document", bson::Binary{0, decision.document});
  return command.done();
}

Decide Decide::decode(bson::DocumentView command) {
  const Fields fields(command);
  const int32_t take = fields.number("take");
  if (take < 0 || take > static_cast<int32_t>(Decision::Take::document)) fields.refuse_field("take", "from 0 to 3");
  return {.into = fields.text(name),
          .collection = fields.uuid("collection"),
          .key = fields.bytes("key"),
          .decision = {
              .take = static_cast<Decision::Take>(take), .document = fields.bytes("document"), .sides = fields.hash("sides")}};
}

bson::Document EndMerge::encode() const {
  bson::Builder command;
  command.append(name, into);
  return command.done();
}
EndMerge EndMerge::decode(bson::DocumentView command) {
  return {.into = Fields(command).text(name)};
}

}  // namespace versions::log
