#include "server/query/let_variables.h"

#include <cctype>

#include "base/error.h"

namespace server::query {
namespace {

using base::ErrorCode;
using base::OperationError;

bool reads(const bson::ValueView& expression, bool (*counts)(std::string_view)) {
  if (expression.is_string()) return counts(expression.as_string());
  if (!expression.is_object() && !expression.is_array()) return false;
  for (const bson::Element& part : expression.as_document()) {
    if (expression.is_object() && (part.name == "$literal" || part.name == "$const")) continue;
    if (reads(part, counts)) return true;
  }
  return false;
}

bool names_document(std::string_view text) {
  if (!text.starts_with('$')) return false;
  if (!text.starts_with("$$")) return true;
  const std::string_view variable = text.substr(2, text.find('.') == text.npos ? text.npos : text.find('.') - 2);
  return variable == "ROOT" || variable == "CURRENT";
}

}  // namespace

void check_variable_name(std::string_view name) {
  if (name.empty()) throw OperationError(ErrorCode::failed_to_parse, "empty variable names are not allowed");
  const auto first = static_cast<unsigned char>(name[0]);
  if (!(std::islower(first) || first >= 0x80) && name != "CURRENT") {
    throw OperationError(ErrorCode::failed_to_parse,
                         "'" + std::string(name) + "' starts with an invalid character for a user variable name");
  }
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (!std::isalnum(byte) && byte != '_' && byte < 0x80) {
      throw OperationError(
          ErrorCode::failed_to_parse,
          "'" + std::string(name) + "' contains an invalid character for a variable name: '" + std::string(1, c) + "'");
    }
  }
}

bool reads_document(const bson::ValueView& expression) {
  return reads(expression, names_document);
}

bool reads_anything(const bson::ValueView& expression) {
  return reads(expression, [](std::string_view text) { return text.starts_with('$'); });
}

void check_let(bson::DocumentView let) {
  for (const bson::Element& variable : let) {
    check_variable_name(variable.name);
    if (reads_document(variable)) {
      throw OperationError(4890500,
                           "Command let Expression tried to access a field, but this is not allowed because Command let "
                           "expressions run before the query examines any documents.");
    }
  }
}

}  // namespace server::query
