#include "server/read_moment.h"

#include "base/error.h"
#include "storage/names.h"

namespace server {

std::string name_at(const std::optional<ReadMoment>& moment, std::string_view ns) {
  if (!moment || !moment->is_declared()) return std::string(ns);
  const std::string_view db = storage::database_of(ns);
  if (db == "local") throw base::OperationError(base::ErrorCode::invalid_options, "a declared snapshot shows nothing of the database local");
  return std::string(db) + "@s" + std::to_string(moment->declared) + "." + std::string(storage::collection_of(ns));
}

}  // namespace server
