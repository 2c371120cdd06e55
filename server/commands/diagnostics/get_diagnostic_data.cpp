// getDiagnosticData returns a sample of all that monitoring reads: serverStatus, replSetGetStatus, the oplog's collStats, and the
// machine's figures. mongod returns the newest of the samples that it takes each second; here the sample is taken when asked for.
#include "base/clock.h"
#include "server/commands/diagnostics/system_metrics.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/operation.h"
#include "server/core/services.h"

namespace server {
namespace {

class GetDiagnosticData : public Command {
 public:
  std::string_view name() const override { return "getDiagnosticData"; }
  std::string_view help() const override { return "get the latest diagnostic data collection snapshot"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    bson::Builder data = reply.object("data");
    append_time(op, "start", data);
    append_answer(op, "serverStatus", "admin", bson::Builder().append("serverStatus", 1).done(), data);
    if (const auto* set = op.services().replica_set; set && set->standing().self) {
      append_answer(op, "replSetGetStatus", "admin", bson::Builder().append("replSetGetStatus", 1).done(), data);
      append_answer(op, "local.oplog.rs.stats", "local", bson::Builder().append("collStats", "oplog.rs").done(), data);
    }
    {
      bson::Builder machine = data.object("systemMetrics");
      append_time(op, "start", machine);
      append_system_metrics(machine);
      append_time(op, "end", machine);
    }
    append_time(op, "end", data);
  }

 private:
  static void append_time(const OperationContext& op, std::string_view name, bson::Builder& out) {
    out.append(name, bson::Date{op.services().clock.wall_ms()});
  }

  // Appends what a command answers to `body`, between the times of its begin and end.
  static void append_answer(OperationContext& op, std::string_view name, const char* db, const bson::Document& body,
                            bson::Builder& out) {
    Request request;
    request.command = std::string(body.view().begin()->name);
    request.db = db;
    request.body = body;
    bson::Builder answer = out.object(name);
    append_time(op, "start", answer);
    op.services().commands.find(request.command)->run(op, request, answer);
    append_time(op, "end", answer);
  }
};

}  // namespace

std::unique_ptr<Command> make_get_diagnostic_data_command() {
  return std::make_unique<GetDiagnosticData>();
}

}  // namespace server
