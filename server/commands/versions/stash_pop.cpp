// stashPop brings a stash's changes to a branch as stashApply does, and drops the stash.
#include "server/commands/versions/stashes.h"

namespace server {
namespace {

class StashPop : public StashCommand {
 public:
  StashPop() : StashCommand(true) {}

  std::string_view help() const override {
    return "bring the changes of a stash to the branch, uncommitted, and drop the stash\n"
           "{ stashPop: <number>, … as stashApply }\nIf there are conflicts, nothing is changed and the stash stays.";
  }
};

}  // namespace

std::unique_ptr<Command> make_stash_pop_command() {
  return std::make_unique<StashPop>();
}

}  // namespace server
