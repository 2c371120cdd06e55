// currentOp shows the running operations. The fields of the command beside its
// options are a filter over the operations.
#include "server/core/command.h"
#include "server/core/generic_arguments.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/write_gate.h"
#include "server/query/matcher.h"
#include "server/query/operation_view.h"

namespace server {
namespace {

class CurrentOp : public Command {
 public:
  std::string_view name() const override { return "currentOp"; }
  std::string_view help() const override { return "get the operations in progress"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    bson::Builder filter;
    OperationViewOptions options;
    auto field = request.body.begin();
    for (++field; field != request.body.end(); ++field) {
      const bool option = field->name == "$ownOps" || field->name == "$all" || field->name == "$truncateOps";
      if (field->name == "$all") options.idle_connections = field->truthy();
      // Without access control every operation is the client's own.
      if (field->name == "$ownOps" && field->truthy() && op.services().options.authorization) options.of = &op.client();
      if (field->name == "$truncateOps") options.whole_commands = !field->truthy();
      if (!option && !is_generic_argument(field->name)) filter.append_element(*field);
    }
    const auto matcher = query::Matcher::parse(
        filter.done(), query::ParseContext{.expressions = nullptr, .let = {}, .op = &op, .allowance = &op.allowance()});
    {
      Held held(op.allowance().memory());
      auto list = reply.array("inprog");
      for (const auto& document : view_operations(op.services(), options, held)) {
        if (matcher->matches(document)) list.append(document);
      }
    }
    if (const WriteGate* gate = op.services().write_gate; gate && gate->closed())
      reply.append("fsyncLock", true).append("info", "use db.fsyncUnlock() to terminate the fsync write/snapshot lock");
  }
};

}  // namespace

std::unique_ptr<Command> make_current_op_command() {
  return std::make_unique<CurrentOp>();
}

}  // namespace server
