// killOp asks one running operation to stop.
#include "base/error.h"
#include "base/log.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/permission.h"
#include "server/core/services.h"

namespace server {
namespace {

class KillOp : public Command {
 public:
  std::string_view name() const override { return "killOp"; }
  std::string_view help() const override { return "Terminate an operation; { killOp: 1, op: <opid> }"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const auto id = request.body.find("op");
    if (!id.exists()) throw base::OperationError(base::ErrorCode::no_such_key, "Did not provide \"op\" field");
    if (!id.is_number()) {
      throw base::OperationError(base::ErrorCode::type_mismatch, "Expected field \"op\" to have a type of number, but found " +
                                                                     std::string(bson::type_name(id.type())));
    }
    const int64_t number = id.to_int64();
    if (number < INT32_MIN || number > INT32_MAX) {
      throw base::OperationError(26823, "invalid op : " + std::to_string(number) + ". Op ID cannot be represented with 32 bits");
    }
    if (!may_on_cluster(op, access::Action::killop)) require_own(op, static_cast<int32_t>(number));
    base::log(base::Severity::info, base::LogComponent::command, 20482, "Going to kill op",
              base::Attributes().add("opId", number));
    op.services().operations.kill(static_cast<int32_t>(number));
    reply.append("info", "attempting to kill op");
  }

 private:
  // One's own operations may be killed by anybody. One that isn't there is nobody's.
  static void require_own(const OperationContext& op, int32_t id) {
    bool own = false;
    op.services().operations.visit([&](const OperationContext& running) {
      if (running.id() == id) own = same_user(op, running.client());
    });
    if (!own) throw base::OperationError(base::ErrorCode::unauthorized, "not authorized to kill operation " + std::to_string(id));
  }
};

}  // namespace

std::unique_ptr<Command> make_kill_op_command() {
  return std::make_unique<KillOp>();
}

}  // namespace server
