// fsyncUnlock takes back one fsync with `lock: true`. Writes go on when each has been taken back.
#include "base/error.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/write_gate.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class FsyncUnlock : public Command {
 public:
  std::string_view name() const override { return "fsyncUnlock"; }
  std::string_view help() const override { return "Unlock the server that fsync locked against writes."; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const int64_t left = op.services().write_gate->open(op.interrupted());
    if (left < 0) throw OperationError(ErrorCode::illegal_operation, "fsyncUnlock called when not locked");
    reply.append("info", "fsyncUnlock completed").append("lockCount", left);
  }
};

}  // namespace

std::unique_ptr<Command> make_fsync_unlock_command() {
  return std::make_unique<FsyncUnlock>();
}

}  // namespace server
