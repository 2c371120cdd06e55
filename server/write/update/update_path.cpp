#include "server/write/update/update_path.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "bson/path.h"
#include "server/query/field_path.h"

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
  if (path.components.size() > query::field_path_parts_max) throw OperationError(ErrorCode::overflow, "FieldPath is too long");
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

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes the digits at the beginning, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  while (number.size() > 1 && number.front() == '0') number.remove_prefix(1);
  return number;
}

}  // namespace

bool FieldNameLess::operator()(std::string_view a, std::string_view b) const {
  std::string_view rest_a = a, rest_b = b;
  while (!rest_a.empty() && !rest_b.empty()) {
    if (is_digit(rest_a.front()) && is_digit(rest_b.front())) {
      const std::string_view number_a = take_number(rest_a), number_b = take_number(rest_b);
      if (number_a.size() != number_b.size()) return number_a.size() < number_b.size();
      if (number_a != number_b) return number_a < number_b;
      continue;
    }
    if (rest_a.front() != rest_b.front()) return static_cast<uint8_t>(rest_a.front()) < static_cast<uint8_t>(rest_b.front());
    rest_a.remove_prefix(1);
    rest_b.remove_prefix(1);
  }
  if (rest_a.empty() != rest_b.empty()) return rest_a.empty();
  return a < b;  // "01" and "1"
}

}  // namespace server::write
