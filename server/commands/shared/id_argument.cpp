#include "server/commands/shared/id_argument.h"

#include "base/error.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

bson::ValueView id_argument(const Arguments& arguments) {
  const auto first = arguments.fields().find("_id");
  const auto other = arguments.fields().find("id");
  if (first.exists() && other.exists()) throw OperationError(ErrorCode::invalid_options, "Cannot specify both _id and id");
  const auto id = first.exists() ? first : other;
  if (!id.exists()) throw OperationError(40414, "BSON field '" + arguments.dotted("_id") + "' is missing but a required field");
  if (id.is_array() || id.type() == bson::Type::regex || id.type() == bson::Type::undefined) {
    throw OperationError(ErrorCode::invalid_id_field,
                         "The '_id' value cannot be of type " + std::string(bson::type_name(id.type())));
  }
  return id;
}

}  // namespace server
