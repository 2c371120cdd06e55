#include "server/core/read_moment.h"

#include "base/error.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "storage/engine/names.h"
#include "versions/database/databases.h"

namespace server {

std::string name_at(const OperationContext& op, std::string_view ns) {
  const std::string_view db = storage::database_of(ns);
  if (!op.moment || !op.moment->is_declared() || op.services().databases->names_snapshot(db)) return std::string(ns);
  if (db == "local")
    throw base::OperationError(base::ErrorCode::invalid_options, "a declared snapshot shows nothing of the database local");
  return versions::name_in_snapshot(db, op.moment->declared) + "." + std::string(storage::collection_of(ns));
}

}  // namespace server
