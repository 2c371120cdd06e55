// stashApply brings a stash's changes to a branch, where they aren't committed.
#include "server/commands/versions/stashes.h"

namespace server {
namespace {

class StashApply : public StashCommand {
 public:
  StashApply() : StashCommand(false) {}

  std::string_view help() const override {
    return "bring the changes of a stash to the branch, uncommitted, and keep the stash\n"
           "{ stashApply: <number>, mode, resolve, paths, collections: as merge, without resolve: \"manual\", dryRun: <bool> }";
  }
};

}  // namespace

std::unique_ptr<Command> make_stash_apply_command() {
  return std::make_unique<StashApply>();
}

}  // namespace server
