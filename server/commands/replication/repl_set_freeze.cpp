// replSetFreeze keeps this member from standing for election for a while.
#include "server/commands/replication/replica_set.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ReplSetFreeze : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetFreeze"; }
  std::string_view help() const override {
    return "{ replSetFreeze : <seconds> }\n'freeze' state of member to the extent we can do that. 0 unfreezes.";
  }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const int64_t seconds = request.body.first().to_int64();
    if (seconds < 0) throw base::OperationError(base::ErrorCode::bad_value, "freeze period must be a positive integer");
    set_of(op).freeze(seconds * 1000);
    if (seconds == 0) reply.append("info", "unfreezing");
    if (seconds == 1) reply.append("warning", "you really want to freeze for only 1 second?");
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_freeze_command() {
  return std::make_unique<ReplSetFreeze>();
}

}  // namespace server
