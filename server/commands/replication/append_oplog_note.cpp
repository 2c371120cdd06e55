// appendOplogNote appends an entry to the log that changes nothing and has the given document.
#include "server/commands/replication/replica_set.h"
#include "server/core/arguments.h"
#include "server/core/operation.h"

namespace server {
namespace {

class AppendOplogNote : public ReplicaSetCommand {
 public:
  std::string_view name() const override { return "appendOplogNote"; }
  std::string_view help() const override { return "Adds a no-op entry to the oplog"; }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    replication::Coordinator& set = set_of(op, "Must have replication set up to run \"appendOplogNote\"");
    const Arguments arguments(request);
    const bson::DocumentView data = arguments.required_object("data");
    if (arguments.any("maxClusterTime").exists()) {  // it belongs to sharded clusters
      throw base::OperationError(40415, "BSON field 'appendOplogNote.maxClusterTime' is an unknown field.");
    }
    op.last_write = set.write_noop(0, data);
  }
};

}  // namespace

std::unique_ptr<Command> make_append_oplog_note_command() {
  return std::make_unique<AppendOplogNote>();
}

}  // namespace server
