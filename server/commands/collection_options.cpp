#include "server/commands/collection_options.h"

#include <string>

#include "base/error.h"
#include "server/arguments.h"
#include "server/operation.h"
#include "server/write/target.h"
#include "storage/catalog.h"
#include "storage/engine.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

void check_collation(const bson::ValueView& collation) {
  if (collation.is_nullish()) return;
  if (!collation.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "BSON field 'collation' is the wrong type '" +
                                                       std::string(bson::type_name(collation.type())) + "', expected type 'object'");
  }
  if (collation.as_document().empty()) return;
  const auto locale = Arguments("collation", collation.as_document()).required_string("locale");
  if (locale == "simple") return;
  throw OperationError(ErrorCode::command_not_supported,
                       "collations other than { locale: \"simple\" } are not supported, got locale '" + std::string(locale) + "'");
}

void check_collection_uuid(OperationContext& op, const bson::ValueView& uuid, std::string_view ns) {
  if (uuid.is_nullish()) return;
  if (uuid.type() != bson::Type::binary || uuid.as_binary().subtype != 4 || uuid.as_binary().bytes.size() != 16) {
    throw OperationError(ErrorCode::invalid_uuid, "uuid must be a 16-byte binary field with UUID (4) subtype");
  }
  const auto collection = write::engine_of(op).catalog().open(ns);
  if (collection && collection->uuid_bytes() == uuid.as_binary().bytes) return;
  throw OperationError(361, "Collection UUID does not match that specified");
}

}  // namespace server
