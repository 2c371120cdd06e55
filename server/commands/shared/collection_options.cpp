#include "server/commands/shared/collection_options.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/path.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/validator.h"
#include "server/write/detailed_error.h"
#include "server/write/namespaces.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"
#include "versions/branch/tree_kind.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

// The key must be a plain path to a field: no operators, no empty component.
void check_lineage_key(std::string_view key) {
  for (const std::string_view component : bson::split_path(key)) {
    if (!component.empty() && component.front() != '$' && component.find('\0') == component.npos) continue;
    throw OperationError(ErrorCode::bad_value, "'dedup.key' must be the path of a field, got '" + std::string(key) + "'");
  }
}

}  // namespace

std::optional<bson::Document> parse_dedup_options(const Arguments& arguments) {
  const auto given = arguments.object("dedup");
  if (!given) return std::nullopt;
  const Arguments fields(arguments.dotted("dedup"), *given);
  fields.only({"enabled", "profile", "key"});
  bson::Builder shown;
  if (const auto enabled = fields.boolean("enabled")) shown.append("enabled", *enabled);
  if (const auto profile = fields.string("profile")) {
    if (*profile != "balanced" && *profile != "thesis" && *profile != "archive") {
      throw OperationError(ErrorCode::bad_value,
                           "'dedup.profile' must be 'balanced', 'thesis' or 'archive', got '" + std::string(*profile) + "'");
    }
    shown.append("profile", *profile);
  }
  if (const auto key = fields.string("key")) {
    check_lineage_key(*key);
    shown.append("key", *key);
  }
  return shown.done();
}

std::optional<bson::Document> parse_commits_options(const Arguments& arguments) {
  const auto given = arguments.object("commits");
  if (!given) return std::nullopt;
  const Arguments fields(arguments.dotted("commits"), *given);
  fields.only({"tree", "buckets"});
  bson::Builder shown;
  if (const auto tree = fields.string("tree")) shown.append("tree", *tree);
  if (const auto buckets = fields.integer("buckets")) shown.append("buckets", *buckets);
  bson::Document commits = shown.done();
  versions::read_tree_kind(commits);
  return commits;
}

void check_id_collation(const storage::IndexSpec& id_index, const bson::Collator* collator) {
  if (bson::same_collation(id_index.collator.get(), collator)) return;
  const auto shown = [](const bson::Collator* one) {
    return one ? bson::to_shell(one->specification()) : std::string("{ locale: \"simple\" }");
  };
  throw OperationError(ErrorCode::bad_value, "The _id index must have the same collation as the collection. Index collation: " +
                                                 shown(id_index.collator.get()) + ", collection collation: " + shown(collator));
}

void check_uuid(const bson::ValueView& uuid) {
  if (uuid.is_nullish()) return;
  if (uuid.type() == bson::Type::binary && uuid.as_binary().subtype == 4 && uuid.as_binary().bytes.size() == 16) return;
  throw OperationError(ErrorCode::invalid_uuid, "uuid must be a 16-byte binary field with UUID (4) subtype");
}

void check_collection_uuid(OperationContext& op, const bson::ValueView& uuid, std::string_view ns) {
  if (uuid.is_nullish()) return;
  check_uuid(uuid);
  const std::string name = name_at(op, ns);
  storage::Catalog& catalog = write::store_of(op).catalog();
  const auto collection = catalog.find(name);
  if (collection && collection->uuid_bytes() == uuid.as_binary().bytes) return;
  bson::Builder details;
  const std::string_view db = write::database_of(ns);
  details.append("db", db).append("collectionUUID", uuid).append("expectedCollection", write::collection_of(ns));
  std::optional<std::string> actual;
  for (const auto& other : catalog.found(write::database_of(name))) {
    if (other->uuid_bytes() == uuid.as_binary().bytes) actual = write::collection_of(other->ns());
  }
  if (actual)
    details.append("actualCollection", *actual);
  else
    details.append_null("actualCollection");
  throw write::DetailedError(static_cast<ErrorCode>(361), "Collection UUID does not match that specified", details.done());
}

namespace {

std::optional<std::string_view> one_of(const Arguments& arguments, std::string_view name,
                                       std::initializer_list<std::string_view> values) {
  const auto given = arguments.string(name);
  if (!given || std::find(values.begin(), values.end(), *given) != values.end()) return given;
  throw OperationError(ErrorCode::bad_value, "Enumeration value '" + std::string(*given) + "' for field '" +
                                                 arguments.dotted(name) + "' is not a valid value.");
}

void check_validator_place(std::string_view ns) {
  const std::string_view db = write::database_of(ns);
  if (write::is_system(ns)) {
    throw OperationError(ErrorCode::invalid_options,
                         "Document validators are not allowed on system collection " + std::string(ns));
  }
  if (db == "admin" || db == "local" || db == "config") {
    throw OperationError(ErrorCode::invalid_options, "Document validators are not allowed on collection " + std::string(ns) +
                                                         " in the " + std::string(db) + " internal database");
  }
}

}  // namespace

bson::Document parse_validation_options(const OperationContext& op, const Arguments& arguments) {
  bson::Builder shown;
  if (const auto rules = arguments.object("validator")) {
    if (!rules->empty()) check_validator_place(op.request().ns());
    query::check_validator(*rules, query::parse_context(op));
    shown.append("validator", *rules);
  }
  if (const auto level = one_of(arguments, "validationLevel", {"off", "strict", "moderate"}))
    shown.append("validationLevel", *level);
  if (const auto action = one_of(arguments, "validationAction", {"error", "warn"})) shown.append("validationAction", *action);
  return shown.done();
}

std::optional<bson::Document> parse_image_options(const OperationContext& op, const Arguments& arguments) {
  const auto given = arguments.object(pre_images_option);
  if (!given) return std::nullopt;
  const Arguments images(arguments.dotted(pre_images_option), *given);
  images.only({"enabled"});
  const auto enabled = images.boolean("enabled");
  if (!enabled) {
    throw base::OperationError(40414, "BSON field '" + images.dotted("enabled") + "' is missing but a required field");
  }
  if (*enabled && !op.services().replica_set) {
    throw base::OperationError(base::ErrorCode::invalid_options,
                               "changeStreamPreAndPostImages is only supported on replica sets");
  }
  bson::Builder out;
  out.append("enabled", *enabled);
  return out.done();
}

}  // namespace server
