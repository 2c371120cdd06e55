#include "server/access/resource.h"

#include "base/error.h"

namespace server::access {
namespace {

using base::ErrorCode;
using base::OperationError;

bool database_fits(std::string_view pattern, std::string_view db) {
  if (pattern.empty()) return db != "local" && db != "config";
  // The first branch is the database itself, and callers name it so.
  if (pattern.ends_with("@main")) pattern.remove_suffix(5);
  if (pattern.ends_with("@*")) return db.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == db;
}

[[noreturn]] void refuse(const std::string& why) {
  throw OperationError(ErrorCode::failed_to_parse, why);
}

std::string text_of(bson::DocumentView document, std::string_view name) {
  const bson::Element field = document.find(name);
  if (!field.is_string()) refuse("resource pattern field '" + std::string(name) + "' must be a string");
  return std::string(field.as_string());
}

bool truth_of(bson::DocumentView document, std::string_view name) {
  const bson::Element field = document.find(name);
  if (!field.exists()) return false;
  if (field.type() != bson::Type::boolean) refuse("resource pattern field '" + std::string(name) + "' must be a boolean");
  return field.as_bool();
}

}  // namespace

bool ResourcePattern::covers(const Resource& resource) const {
  if (kind == Kind::any) return true;
  if (kind == Kind::cluster) return resource.kind == Resource::Kind::cluster;
  switch (resource.kind) {
    case Resource::Kind::cluster: return false;
    case Resource::Kind::database: return collection.empty() && database_fits(db, resource.db);
    case Resource::Kind::collection: break;
  }
  // No collection has the prefix alone for a name: it stands for the buckets of all time series.
  const bool named =
      collection == "system.buckets." ? resource.collection.starts_with(collection) : collection == resource.collection;
  if (!named && (!collection.empty() || resource.collection.starts_with("system."))) return false;
  // One that is named is covered in any database, local and config too.
  return (db.empty() && named) || database_fits(db, resource.db);
}

bson::Document ResourcePattern::document() const {
  bson::Builder out;
  if (kind == Kind::any)
    out.append("anyResource", true);
  else if (kind == Kind::cluster)
    out.append("cluster", true);
  else
    out.append("db", db).append("collection", collection);
  return out.done();
}

ResourcePattern ResourcePattern::parse(bson::DocumentView document) {
  for (const auto& field : document) {
    if (field.name != "db" && field.name != "collection" && field.name != "cluster" && field.name != "anyResource")
      refuse("Unknown resource pattern field '" + std::string(field.name) + "'");
  }
  const bool any = truth_of(document, "anyResource"), cluster = truth_of(document, "cluster");
  const bool names = document.has("db") || document.has("collection");
  if (any + cluster + names != 1) refuse("resource pattern must have exactly one of: db and collection, cluster, anyResource");
  if (any) return {Kind::any, {}, {}};
  if (cluster) return {Kind::cluster, {}, {}};
  if (!document.has("db") || !document.has("collection")) refuse("resource pattern must have both 'db' and 'collection'");
  ResourcePattern pattern{Kind::names, text_of(document, "db"), text_of(document, "collection")};
  if (pattern.db.find_first_of("/\\ \"$") != std::string::npos || pattern.db.find('\0') != std::string::npos ||
      pattern.db.find('.') != std::string::npos) {
    throw OperationError(ErrorCode::bad_value, pattern.db + " is not a valid database name");
  }
  return pattern;
}

}  // namespace server::access
