// fsync writes everything to the data files. It takes no lock that stops writes.
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class Fsync : public Command {
 public:
  std::string_view name() const override { return "fsync"; }
  std::string_view help() const override { return "Flush all data to disk."; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    if (Arguments(request).loose_boolean("lock").value_or(false)) {
      throw OperationError(ErrorCode::command_not_supported, "fsync with lock: true is not supported");
    }
    write::store_of(op).engine().checkpoint();
    reply.append("numFiles", 1);
  }
};

}  // namespace

std::unique_ptr<Command> make_fsync_command() {
  return std::make_unique<Fsync>();
}

}  // namespace server
