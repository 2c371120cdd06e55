#include "server/query/field_path.h"

#include <optional>

#include "base/error.h"
#include "bson/path.h"

namespace server::query {

bool is_dbref_field(std::string_view name) {
  return name == "$ref" || name == "$id" || name == "$db";
}

namespace {

struct Fault {
  base::ErrorCode code;
  const char* text;
};

std::optional<Fault> fault_of(std::string_view path) {
  const auto fault = [](int code, const char* text) { return Fault{static_cast<base::ErrorCode>(code), text}; };
  if (path.empty()) return fault(40352, "FieldPath cannot be constructed with empty string");
  if (path.back() == '.') return fault(40353, "FieldPath must not end with a '.'.");
  if (path.find('\0') != std::string_view::npos) return fault(16411, "FieldPath field names may not contain '\\0'.");
  const auto parts = bson::split_path(path);
  for (std::string_view part : parts) {
    if (part.empty()) return fault(15998, "FieldPath field names may not be empty strings.");
    if (part.front() == '$' && !is_dbref_field(part)) {
      return fault(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
    }
  }
  if (parts.size() > field_path_parts_max) return Fault{base::ErrorCode::overflow, "FieldPath is too long"};
  return std::nullopt;
}

}  // namespace

bool is_field_path(std::string_view path) {
  return !fault_of(path);
}

void check_field_path(std::string_view path) {
  if (const auto fault = fault_of(path)) throw base::OperationError(fault->code, fault->text);
}

}  // namespace server::query
