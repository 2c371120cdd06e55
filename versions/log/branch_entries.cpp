#include "versions/log/branch_entries.h"

namespace versions::log {

bson::Document BeginBranches::encode() const {
  bson::Builder command;
  command.append(name, 1);
  made.append_to(command);
  return command.done();
}
BeginBranches BeginBranches::decode(bson::DocumentView command) {
  const Fields fields(command);
  fields.require_one();
  return {.made = MadeCommit::decode(fields)};
}

bson::Document CreateBranch::encode() const {
  bson::Builder command;
  command.append(name, branch);
  if (from) command.append("from", *from);
  command.append("commit", binary_of(commit));
  return command.done();
}
CreateBranch CreateBranch::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name),
          .from = fields.has("from") ? std::optional(fields.text("from")) : std::nullopt,
          .commit = fields.hash("commit")};
}

bson::Document DropBranch::encode() const {
  bson::Builder command;
  command.append(name, branch);
  return command.done();
}
DropBranch DropBranch::decode(bson::DocumentView command) {
  return {.branch = Fields(command).text(name)};
}

bson::Document RenameBranch::encode() const {
  bson::Builder command;
  command.append(name, branch).append("to", to);
  return command.done();
}
RenameBranch RenameBranch::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name), .to = fields.text("to")};
}

bson::Document ResetBranch::encode() const {
  bson::Builder command;
  command.append(name, branch).append("commit", binary_of(commit));
  return command.done();
}
ResetBranch ResetBranch::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.branch = fields.text(name), .commit = fields.hash("commit")};
}

bson::Document CreateTag::encode() const {
  bson::Builder command;
  command.append(name, tag).append("commit", binary_of(commit));
  return command.done();
}
CreateTag CreateTag::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {.tag = fields.text(name), .commit = fields.hash("commit")};
}

bson::Document DropTag::encode() const {
  bson::Builder command;
  command.append(name, tag);
  return command.done();
}
DropTag DropTag::decode(bson::DocumentView command) {
  return {.tag = Fields(command).text(name)};
}

}  // namespace versions::log
