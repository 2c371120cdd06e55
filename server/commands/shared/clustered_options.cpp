#include "server/commands/shared/clustered_options.h"

#include "base/clock.h"
#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/core/arguments.h"
#include "storage/collections/clustered.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void no_size(int32_t code, const char* field) {
  throw OperationError(code, "'" + std::string(field) +
                                 "' field for capped collections is not allowed on clustered collections. Did you mean "
                                 "'capped: true' with 'expireAfterSeconds'?");
}

[[noreturn]] void missing(const Arguments& arguments, std::string_view name) {
  throw OperationError(40414, "BSON field '" + arguments.dotted(name) + "' is missing but a required field");
}

bson::Document parse(const Arguments& fields, bson::DocumentView given) {
  fields.only({"v", "key", "name", "unique"});
  const auto key = fields.object("key");
  const auto unique = fields.loose_boolean("unique");
  const auto name = fields.string("name");
  const int64_t version = fields.integer("v").value_or(2);
  if (!key) missing(fields, "key");
  if (!unique) missing(fields, "unique");
  if (!*unique) throw OperationError(5979700, "The clusteredIndex option requires unique: true to be specified");
  const bson::Element first = key->first();
  if (key->count() != 1 || first.name != "_id" || !first.is_number() || first.to_double() != 1) {
    throw OperationError(ErrorCode::invalid_index_specification_option,
                         "The clusteredIndex option is only supported for key: {_id: 1}");
  }
  if (version != 2) {
    throw OperationError(5979704, "Invalid clusteredIndex specification " + bson::to_shell(given) +
                                      "; cannot create a clusteredIndex with v=" + std::to_string(version));
  }
  bson::Builder out;
  out.append("v", 2).append("key", *key).append("name", name && !name->empty() ? *name : "_id_").append("unique", true);
  return out.done();
}

}  // namespace

std::optional<bson::Document> parse_clustered_option(const Arguments& arguments, bool capped) {
  const bson::Element given = arguments.any(storage::clustered_index_option);
  if (given.is_nullish()) return std::nullopt;
  if (given.type() == bson::Type::boolean) {
    if (!given.as_bool()) return std::nullopt;
    throw OperationError(5979703,
                         "The 'clusteredIndex' legacy format {clusteredIndex: <bool>} is only supported for specific internal "
                         "collections and vice versa");
  }
  if (!given.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field '" + arguments.dotted(storage::clustered_index_option) +
                                                       "' is the wrong type '" + std::string(bson::type_name(given.type())) +
                                                       "', expected types '[bool, object]'");
  }
  if (capped)
    throw OperationError(6127800, "Clustered capped collection only available with 'enableTestCommands' server parameter");
  if (arguments.any("size").exists()) no_size(6049200, "size");
  if (arguments.any("max").exists()) no_size(6049204, "max");
  return parse(Arguments(arguments.dotted(storage::clustered_index_option), given.as_document()), given.as_document());
}

std::optional<int64_t> parse_expiry_option(const Arguments& arguments, const base::Clock& clock) {
  const auto seconds = arguments.integer(storage::expire_after_seconds_option);
  if (!seconds) return std::nullopt;
  if (*seconds < 0)
    throw OperationError(ErrorCode::invalid_options, "TTL index 'expireAfterSeconds' option cannot be less than 0");
  // The oldest date that would expire lies before 1970 otherwise.
  if (*seconds > clock.wall_ms() / 1000) {
    throw OperationError(ErrorCode::invalid_options,
                         "TTL index 'expireAfterSeconds' option must be within an acceptable range, try a lower number");
  }
  return *seconds;
}

}  // namespace server
