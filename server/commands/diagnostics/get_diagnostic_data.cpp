// getDiagnosticData would return the newest sample of a mongod's diagnostic data. This server collects none, so it refuses.
#include "base/error.h"
#include "server/core/command.h"

namespace server {
namespace {

class GetDiagnosticData : public Command {
 public:
  std::string_view name() const override { return "getDiagnosticData"; }
  std::string_view help() const override { return "get the latest diagnostic data collection snapshot"; }
  bool admin_only() const override { return true; }

  void run(OperationContext&, const Request&, bson::Builder&) override {
    throw base::OperationError(base::ErrorCode::command_not_supported,
                               "this server collects no diagnostic data; serverStatus and replSetGetStatus tell what there is");
  }
};

}  // namespace

std::unique_ptr<Command> make_get_diagnostic_data_command() {
  return std::make_unique<GetDiagnosticData>();
}

}  // namespace server
