// replSetReconfig gives an existing set another configuration.
#include "server/commands/replication/replica_set.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

class ReplSetReconfig : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "replSetReconfig"; }
  std::string_view help() const override { return "Adjust configuration of a replica set\n{ replSetReconfig : config_object }"; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    replication::Coordinator& set = set_of(op);
    const auto given = request.body.first();
    if (!given.is_object()) throw base::OperationError(base::ErrorCode::bad_value, "no configuration specified");
    const bool force = Arguments(request).loose_boolean("force").value_or(false);
    op.begin_writing(false);
    set.reconfigure(replication::parse_set_config(given.as_document()), force);
  }
};

}  // namespace

std::unique_ptr<Command> make_repl_set_reconfig_command() {
  return std::make_unique<ReplSetReconfig>();
}

}  // namespace server
