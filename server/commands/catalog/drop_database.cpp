// dropDatabase removes all collections of a database.
#include "base/error.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/dispatch/profiler.h"
#include "server/write/arrivals.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

class DropDatabase : public Command {
 public:
  std::string_view name() const override { return "dropDatabase"; }
  std::string_view help() const override { return "drop (delete) this database"; }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    if (arguments.required_integer("dropDatabase") != 1) {
      throw OperationError(5255100, "Have to pass 1 as 'dropDatabase' parameter");
    }
    if (request.db == "admin" || request.db == "config" || request.db == "local") {
      throw OperationError(ErrorCode::illegal_operation, "Dropping the '" + request.db + "' database is prohibited.");
    }
    write::end_arrival(op, request.db);  // also if it stopped before its first collection
    if (!write::store_of(op).catalog().drop_database(request.db, {.interrupted = op.interrupted()})) return;
    op.services().profiler.forget(request.db);
    reply.append("dropped", request.db);
  }
};

}  // namespace

std::unique_ptr<Command> make_drop_database_command() {
  return std::make_unique<DropDatabase>();
}

}  // namespace server
