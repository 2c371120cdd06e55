#include "server/write/update/update_path.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "bson/path.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

std::string UpdatePath::prefix(size_t count) const {
  std::string text;
  for (size_t i = 0; i < count; ++i) text.append(i ? "." : "").append(components[i]);
  return text;
}

UpdatePath parse_update_path(std::string_view dotted) {
  if (dotted.empty()) throw OperationError(ErrorCode::empty_field_name, "An empty update path is not valid.");
  UpdatePath path{std::string(dotted), {}};
  for (std::string_view component : bson::split_path(dotted)) {
    if (component.empty()) {
      throw OperationError(ErrorCode::empty_field_name,
                           "The update path '" + path.dotted + "' contains an empty field name, which is not allowed.");
    }
    path.components.emplace_back(component);
  }
  const std::string& first = path.components.front();
  if (is_positional(first)) {
    throw OperationError(ErrorCode::bad_value,
                         "Cannot have positional (i.e. '$') element in the first position in path '" + path.dotted + "'");
  }
  if (is_filtered(first)) {
    throw OperationError(
        ErrorCode::bad_value,
        "Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '" + path.dotted + "'");
  }
  if (std::count_if(path.components.begin(), path.components.end(), is_positional) > 1) {
    throw OperationError(ErrorCode::bad_value, "Too many positional (i.e. '$') elements found in path '" + path.dotted + "'");
  }
  return path;
}

bool is_filtered(std::string_view component) {
  return component.size() >= 3 && component.starts_with("$[") && component.ends_with("]");
}

std::optional<size_t> array_index(std::string_view component) {
  uint32_t index = 0;
  const char* const end = component.data() + component.size();
  const auto parsed = std::from_chars(component.data(), end, index);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return index;
}

bool FieldNameLess::operator()(std::string_view a, std::string_view b) const {
  const auto numeric = [](std::string_view name) {
    return !name.empty() && name.find_first_not_of("0123456789") == name.npos && (name.size() == 1 || name[0] != '0');
  };
  if (a.size() != b.size() && numeric(a) && numeric(b)) return a.size() < b.size();
  return a < b;
}

}  // namespace server::write
