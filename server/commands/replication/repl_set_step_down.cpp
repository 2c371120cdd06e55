// replSetStepDown makes the primary a secondary for a while.
#include "server/commands/replication/replica_set.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ReplSetStepDown : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetStepDown"; }
  std::string_view help() const override {
    return "{ replSetStepDown : <seconds> }\nStep down as primary.  Will not try to reelect self for the specified time period "
           "(1 minute if no numeric secs value specified, "
           "or secs is 0).\n(If another member with same priority takes over in the meantime, it will stay primary.)";
  }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    replication::Coordinator& set = set_of(op);
    const Arguments arguments(request);
    const bool force = arguments.loose_boolean("force").value_or(false);
    int64_t period_s = request.body.first().is_number() ? request.body.first().to_int64() : 0;
    if (period_s == 0) period_s = 60;
    if (period_s < 0) throw base::OperationError(base::ErrorCode::bad_value, "stepdown period must be a positive integer");
    const int64_t catch_up_s =
        arguments.integer("secondaryCatchUpPeriodSecs").value_or(force ? 0 : std::min<int64_t>(10, period_s));
    if (catch_up_s < 0)
      throw base::OperationError(base::ErrorCode::bad_value, "secondaryCatchUpPeriodSecs period must be a positive or absent");
    if (period_s < catch_up_s) {
      throw base::OperationError(base::ErrorCode::bad_value, "stepdown period must be longer than secondaryCatchUpPeriodSecs");
    }
    set.step_down({.period_ms = period_s * 1000, .catch_up_ms = catch_up_s * 1000, .force = force});
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_step_down_command() {
  return std::make_unique<ReplSetStepDown>();
}

}  // namespace server
