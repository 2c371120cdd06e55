#include "storage/engine/names.h"

#include "base/error.h"

namespace storage {
namespace {

constexpr size_t database_bytes_max = 63;
constexpr size_t namespace_bytes_max = 255;
constexpr std::string_view database_forbidden("/\\. \"$\0", 7);  // these are forbidden on Linux; Windows forbids more

[[noreturn]] void invalid(const std::string& message) {
  throw base::OperationError(base::ErrorCode::invalid_namespace, message);
}

bool known_system_collection(std::string_view db, std::string_view collection) {
  if (db == "local" || db == "config") return true;
  if (collection == "system.views" || collection == "system.js" || collection == "system.profile") return true;
  if (collection.starts_with(buckets_prefix)) return true;
  return db == "admin" && (collection == "system.users" || collection == "system.roles" || collection == "system.version" ||
                           collection == "system.keys" || collection == "system.remotes" || collection == "system.stashes" ||
                           collection == "system.arrivals");
}

}  // namespace

std::string_view database_of(std::string_view ns) {
  return ns.substr(0, ns.find('.'));
}

std::string_view collection_of(std::string_view ns) {
  const size_t dot = ns.find('.');
  return dot == ns.npos ? std::string_view() : ns.substr(dot + 1);
}

bool is_own(std::string_view ns) {
  return database_of(ns) == "local" || collection_of(ns) == "system.profile";
}

void check_database_name(std::string_view db) {
  if (db.size() > database_bytes_max) invalid("db name must be at most 63 characters, found: " + std::to_string(db.size()));
  if (db.empty() || db.find_first_of(database_forbidden) != db.npos) invalid("Invalid database name: '" + std::string(db) + "'");
}

void check_namespace(std::string_view ns) {
  const std::string_view db = database_of(ns);
  const std::string_view collection = collection_of(ns);
  check_database_name(db);
  const bool bad = collection.empty() || collection.front() == '.' || collection.back() == '.' ||
                   collection.find('$') != collection.npos || collection.find('\0') != collection.npos;
  if (bad) invalid("Invalid namespace specified '" + std::string(ns) + "'");
  if (ns.size() > namespace_bytes_max) {
    invalid("Fully qualified namespace is too long. Namespace: " + std::string(ns) +
            " Max: " + std::to_string(namespace_bytes_max));
  }
  if (collection.starts_with("system.") && !known_system_collection(db, collection)) {
    invalid("Invalid system namespace: " + std::string(ns));
  }
}

}  // namespace storage
