#include "server/write/namespaces.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"
#include "base/random.h"
#include "server/query/series/series_options.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr size_t namespace_bytes_max = 255;
constexpr size_t unfinished_digits = 16;
constexpr std::string_view hex_digits = "0123456789abcdef";

// Users may write to these system collections in these databases ("": any).
bool is_client_system(std::string_view ns) {
  static constexpr std::array<std::string_view, 11> in_their_database = {
      "admin.system.roles",        "admin.system.users",   "admin.system.version",   "admin.system.new_users",
      "admin.system.backup_users", "admin.system.keys",    "config.system.sessions", "config.system.preimages",
      "admin.system.remotes",      "admin.system.stashes", "admin.system.arrivals"};
  const std::string_view collection = collection_of(ns);
  return collection == "system.js" || collection == "system.profile" || collection == "system.views" ||
         std::find(in_their_database.begin(), in_their_database.end(), ns) != in_their_database.end();
}

}  // namespace

bool is_system(std::string_view ns) {
  return collection_of(ns).starts_with("system.");
}

bool is_unfinished(std::string_view ns) {
  std::string_view name = query::is_buckets(ns) ? query::series_name(ns) : collection_of(ns);
  if (!name.starts_with(unfinished_prefix)) return false;
  name.remove_prefix(unfinished_prefix.size());
  return name.size() == unfinished_digits && name.find_first_not_of(hex_digits) == name.npos;
}

std::string unfinished_name() {
  std::string name(unfinished_prefix);
  uint64_t part = base::entropy64();
  for (size_t i = 0; i < unfinished_digits; ++i, part >>= 4) name += hex_digits[part & 15];
  return name;
}

void check_branch_creatable(std::string_view name) {
  if (!name.starts_with(unfinished_prefix)) return;
  throw OperationError(ErrorCode::invalid_namespace,
                       "Invalid branch name: " + std::string(name) + ": the server drops branches with this prefix");
}

void check_writable(std::string_view ns) {
  const std::string_view collection = collection_of(ns);
  if (is_oplog(ns) || collection == "system.profile" || collection == "system.views") {
    throw OperationError(ErrorCode::invalid_namespace, "cannot write to " + std::string(ns));
  }
  // Tools restore buckets as they are; only `create` makes their collection.
  if (query::is_buckets(ns) && ns.size() <= namespace_bytes_max) return;
  check_creatable(ns);
}

void check_creatable(std::string_view ns) {
  if (is_system(ns) && !is_client_system(ns)) {
    throw OperationError(ErrorCode::invalid_namespace, "Invalid system namespace: " + std::string(ns));
  }
  if (collection_of(ns).empty() || collection_of(ns).find('$') != ns.npos || collection_of(ns).starts_with(".")) {
    throw OperationError(ErrorCode::invalid_namespace, "Invalid collection name: " + std::string(collection_of(ns)));
  }
  if (ns.size() > namespace_bytes_max) {
    throw OperationError(ErrorCode::invalid_namespace, "Fully qualified namespace is too long. Namespace: " + std::string(ns) +
                                                           " Max: " + std::to_string(namespace_bytes_max));
  }
}

void check_droppable(std::string_view ns) {
  if (is_oplog(ns)) throw OperationError(ErrorCode::illegal_operation, "can't drop live oplog while replicating");
  if (is_system(ns) && collection_of(ns) != "system.js" && collection_of(ns) != "system.profile" && database_of(ns) != "config") {
    throw OperationError(ErrorCode::illegal_operation, "can't drop system collection " + std::string(ns));
  }
}

void check_renamable(std::string_view from, std::string_view to) {
  if (is_oplog(from) || is_oplog(to)) {
    throw OperationError(ErrorCode::invalid_namespace, is_oplog(from) ? "can't rename live oplog while replicating"
                                                                      : "can't rename to live oplog while replicating");
  }
  if ((database_of(from) == "local") != (database_of(to) == "local")) {
    throw OperationError(ErrorCode::illegal_operation,
                         "Cannot rename collections between a replicated and an unreplicated database");
  }
  if (is_system(from) || is_system(to)) {
    throw OperationError(ErrorCode::illegal_operation,
                         "cannot rename system namespaces: " + std::string(from) + " to " + std::string(to));
  }
  check_creatable(to);
}

}  // namespace server::write
