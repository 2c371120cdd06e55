// revert takes the changes of one commit back on a branch.
#include "server/commands/versions/merge_command.h"

namespace server {
namespace {

class Revert : public MergeCommand {
 public:
  Revert() : MergeCommand(Kind::revert) {}

  std::string_view help() const override {
    return "take back what one commit has changed\n{ revert: <branch, tag or commit>, … as merge, without into }";
  }
};

}  // namespace

std::unique_ptr<Command> make_revert_command() {
  return std::make_unique<Revert>();
}

}  // namespace server
