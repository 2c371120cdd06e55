// getParameter returns parameters by name, or all of them.
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/parameters.h"
#include "server/core/services.h"

namespace server {
namespace {

void append(bson::Builder& reply, const std::string& name, const ServerParameters::Parameter& parameter, bool details) {
  if (!details) {
    reply.append(name, parameter.get());
    return;
  }
  auto shown = reply.object(name);
  shown.append("value", parameter.get()).append("settableAtRuntime", parameter.at_runtime && parameter.set);
  shown.append("settableAtStartup", parameter.at_startup && parameter.set);
}

class GetParameter : public Command {
 public:
  std::string_view name() const override { return "getParameter"; }
  std::string_view help() const override { return "get administrative option(s)\n{ getParameter:'*' } to get everything"; }
  bool admin_only() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const ServerParameters& parameters = op.services().parameters;
    const bson::Element first = request.body.first();
    bool all = first.is_string() && first.as_string() == "*";
    bool details = false;
    if (first.is_object()) {
      const Arguments how("getParameter", first.as_document());
      all = how.loose_boolean("allParameters").value_or(false);
      details = how.loose_boolean("showDetails").value_or(false);
    }
    size_t found = 0;
    if (all) {
      for (const auto& [name, parameter] : parameters.all()) append(reply, name, parameter, details), ++found;
    } else {
      auto field = request.body.begin();
      for (++field; field != request.body.end(); ++field) {
        const auto* parameter = parameters.find(field->name);
        if (parameter) append(reply, std::string(field->name), *parameter, details), ++found;
      }
    }
    if (found == 0) throw base::OperationError(base::ErrorCode::invalid_options, "no option found to get");
  }
};

}  // namespace

std::unique_ptr<Command> make_get_parameter_command() {
  return std::make_unique<GetParameter>();
}

}  // namespace server
