// cherryPick merges the changes of one commit into a branch.
#include "server/commands/versions/merge_command.h"

namespace server {
namespace {

class CherryPick : public MergeCommand {
 public:
  CherryPick() : MergeCommand(Kind::cherry_pick) {}

  std::string_view help() const override {
    return "apply the changes of one commit to the branch\n{ cherryPick: <branch, tag or commit>, … as merge, without into "
           "}";
  }
};

}  // namespace

std::unique_ptr<Command> make_cherry_pick_command() {
  return std::make_unique<CherryPick>();
}

}  // namespace server
