// fsync writes everything to the data files. With `lock: true` it also stops writes, until fsyncUnlock.
#include <chrono>

#include "base/clock_time.h"
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/write_gate.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class Fsync : public Command {
 public:
  std::string_view name() const override { return "fsync"; }
  std::string_view help() const override { return "Flush all data to disk, or lock the server against writes."; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const std::chrono::milliseconds patience(arguments.integer("fsyncLockAcquisitionTimeoutMillis").value_or(90'000));
    if (!arguments.loose_boolean("lock").value_or(false)) {
      write::store_of(op).engine().checkpoint();
      reply.append("numFiles", 1);
      return;
    }
    const auto until = base::now(op.services().clock) + patience;
    const int64_t locks = op.services().write_gate->close([&] {
      op.check_interrupt();
      if (base::now(op.services().clock) >= until)
        throw OperationError(ErrorCode::lock_timeout, "Fsync lock timed out: writes that had begun went on");
    });
    reply.append("info", "now locked against writes, use db.fsyncUnlock() to unlock").append("lockCount", locks);
    reply.append("seeAlso", "http://dochub.mongodb.org/core/fsynccommand");
  }
};

}  // namespace

std::unique_ptr<Command> make_fsync_command() {
  return std::make_unique<Fsync>();
}

}  // namespace server
