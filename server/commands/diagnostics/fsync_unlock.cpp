// fsyncUnlock always fails, because fsync never locks.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class FsyncUnlock : public Command {
 public:
  std::string_view name() const override { return "fsyncUnlock"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    throw OperationError(ErrorCode::illegal_operation, "fsyncUnlock called when not locked");
  }
};

}  // namespace

std::unique_ptr<Command> make_fsync_unlock_command() {
  return std::make_unique<FsyncUnlock>();
}

}  // namespace server
