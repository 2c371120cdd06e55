// features is kept for old tools; it returns build features and the process's id.
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/topology.h"

namespace server {
namespace {

class Features : public Command {
 public:
  std::string_view name() const override { return "features"; }
  std::string_view help() const override { return "return build level feature settings"; }

  void run(OperationContext& op, const Request&, bson::Builder& reply) override {
    const auto& id = op.services().topology.process_id().bytes;
    reply.append("js", 0).append("oidMachine", static_cast<int32_t>((id[4] << 16) | (id[5] << 8) | id[6]));
  }
};

}  // namespace

std::unique_ptr<Command> make_features_command() {
  return std::make_unique<Features>();
}

}  // namespace server
