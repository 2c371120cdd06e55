// setClusterParameter sets a setting of the whole set.
#include "base/error.h"
#include "replication/oplog.h"
#include "server/core/arguments.h"
#include "server/core/cluster_parameters.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/statements.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class SetClusterParameter final : public Command {
 public:
  std::string_view name() const override { return "setClusterParameter"; }
  std::string_view help() const override {
    return "Set cluster parameter on replica set or node: "
           "{ setClusterParameter: { changeStreamOptions: { preAndPostImages: { expireAfterSeconds: <number> | 'off' } } } }";
  }
  bool admin_only() const override { return true; }
  bool writes() const override { return true; }
  std::optional<FieldNames> fields() const override { return FieldNames{}; }

  void run(OperationContext& op, const Request& request, bson::Builder&) override {
    if (!op.services().replica_set)
      throw OperationError(ErrorCode::illegal_operation, "setClusterParameter cannot be run on standalones");
    const bson::DocumentView given = Arguments(request).required_object("setClusterParameter");
    if (given.count() != 1) {
      throw OperationError(ErrorCode::invalid_options, "setClusterParameter only supports setting exactly one parameter");
    }
    const bson::Document document =
        new_cluster_parameter(given.first(), replication::timestamp_of(op.services().oplog->newest().optime.ts));
    write::put_document(op, cluster_parameters_ns, given.first().name, document);
  }
};

}  // namespace

std::unique_ptr<Command> make_set_cluster_parameter_command() {
  return std::make_unique<SetClusterParameter>();
}

}  // namespace server
