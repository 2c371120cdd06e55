// getClusterParameter shows settings of the whole set.
#include "base/error.h"
#include "server/core/cluster_parameters.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/write/target.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class GetClusterParameter final : public Command {
 public:
  std::string_view name() const override { return "getClusterParameter"; }
  std::string_view help() const override {
    return "Get in-memory cluster parameter value(s): { getClusterParameter: <name> | [<name>, ...] | '*' }";
  }
  bool admin_only() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames{}; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    storage::Store& store = write::store_of(op);
    const auto wanted = request.body.first();
    auto parameters = reply.array("clusterParameters");
    if (wanted.is_string()) {
      parameters.append(cluster_parameter(store, wanted.as_string() == "*" ? change_stream_options : wanted.as_string()));
      return;
    }
    if (!wanted.is_array()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field 'getClusterParameter.getClusterParameter' is the wrong type '" +
                                                         std::string(bson::type_name(wanted.type())) +
                                                         "', expected types '[array, string]'");
    }
    if (wanted.as_document().empty())
      throw OperationError(ErrorCode::bad_value, "Must supply at least one cluster server parameter name");
    for (const auto& name : wanted.as_document()) {
      if (!name.is_string()) throw OperationError(ErrorCode::type_mismatch, "Names of cluster parameters must be strings");
      parameters.append(cluster_parameter(store, name.as_string()));
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_get_cluster_parameter_command() {
  return std::make_unique<GetClusterParameter>();
}

}  // namespace server
