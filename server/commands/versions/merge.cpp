// merge merges the changes of another branch, tag or commit into a branch.
#include "server/commands/versions/merge_command.h"

namespace server {
namespace {

class Merge : public MergeCommand {
 public:
  Merge() : MergeCommand(Kind::merge) {}

  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mode",
                                                 "resolve",
                                                 "paths",
                                                 "collections",
                                                 "dryRun",
                                                 "message",
                                                 "author",
                                                 "into",
                                                 "branch",
                                                 "squash",
                                                 "bypassDocumentValidation"};
    return names;
  }
  std::string_view help() const override {
    return "merge the changes of another branch or commit into the branch that the database's name says\n"
           "{ merge: <branch, tag or commit>, mode: fieldTouched | fieldDivergent | documentTouched | documentDivergent,\n"
           "  resolve: fail | ours | theirs | manual | [ <stages over $$base, $$ours, $$theirs> ],\n"
           "  paths: { <path>: sum | max | min | union | append | ours | theirs | {byKey: <field>} },\n"
           "  collections: { <name>: { mode, resolve, paths } }, into: head | both | new, branch: <of into: new>,\n"
           "  squash: <bool: the commit has one parent>, dryRun: <bool>, message: <string>, author: <string> }\n"
           "Where there are conflicts nothing is merged; with resolve: manual they can be decided one by one "
           "(listConflicts).";
  }
};

}  // namespace

std::unique_ptr<Command> make_merge_command() {
  return std::make_unique<Merge>();
}

}  // namespace server
