#include "server/query/field_path.h"

#include "base/error.h"
#include "bson/path.h"

namespace server::query {

bool is_dbref_field(std::string_view name) {
  return name == "$ref" || name == "$id" || name == "$db";
}

bool begins_with_dbref_field(std::string_view path) {
  return is_dbref_field(path.substr(0, path.find('.')));
}

void check_field_path(std::string_view path) {
  using base::OperationError;
  if (path.empty()) throw OperationError(40352, "FieldPath cannot be constructed with empty string");
  if (path.back() == '.') throw OperationError(40353, "FieldPath must not end with a '.'.");
  if (path.find('\0') != std::string_view::npos) throw OperationError(16411, "FieldPath field names may not contain '\\0'.");
  const auto parts = bson::split_path(path);
  for (std::string_view part : parts) {
    if (part.empty()) throw OperationError(15998, "FieldPath field names may not be empty strings.");
    if (part.front() == '$' && !is_dbref_field(part)) {
      throw OperationError(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
    }
  }
  if (parts.size() > field_path_parts_max) throw OperationError(base::ErrorCode::overflow, "FieldPath is too long");
}

}  // namespace server::query
