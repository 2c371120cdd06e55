// setParameter changes one or more parameters while the server runs.
#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"
#include "server/core/command.h"
#include "server/core/generic_arguments.h"
#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"

namespace server {
namespace {

class SetParameter : public Command {
 public:
  std::string_view name() const override { return "setParameter"; }
  std::string_view help() const override { return "set administrative option(s)\n{ setParameter:1, <param>:<value> }"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    size_t set = 0;
    auto field = request.body.begin();
    for (++field; field != request.body.end(); ++field) {
      if (is_generic_argument(field->name)) continue;
      const bson::Value before = op.services().parameters.set(field->name, *field);
      base::log(base::Severity::info, base::LogComponent::command, 23435, "Successfully set parameter",
                base::Attributes()
                    .add("parameterName", field->name)
                    .json("newValue", bson::to_json(*field))
                    .json("oldValue", bson::to_json(before.view())));
      if (set++ == 0) reply.append("was", before);
    }
    if (set == 0)
      throw base::OperationError(base::ErrorCode::invalid_options, "no option found to set, use help:true to see options ");
  }
};

}  // namespace

std::unique_ptr<Command> make_set_parameter_command() {
  return std::make_unique<SetParameter>();
}

}  // namespace server
