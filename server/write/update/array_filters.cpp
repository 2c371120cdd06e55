#include "server/write/update/array_filters.h"

#include <algorithm>

#include "base/error.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

[[noreturn]] void unparsable(const std::string& why) {
  throw OperationError(ErrorCode::failed_to_parse, "Error parsing array filter :: caused by :: " + why);
}

// Finds the one top-level name with which all of the filter's paths begin.
void collect_identifier(bson::DocumentView filter, std::string& identifier) {
  for (const auto& field : filter) {
    if (field.name == "$and" || field.name == "$or" || field.name == "$nor") {
      if (!field.is_array()) continue;  // the filter's parser has a better message for it
      for (const auto& branch : field.as_document()) {
        if (branch.is_object()) collect_identifier(branch.as_document(), identifier);
      }
      continue;
    }
    if (field.name.starts_with("$")) continue;
    const std::string name(field.name.substr(0, field.name.find('.')));
    if (identifier.empty()) identifier = name;
    if (identifier != name) {
      unparsable("Expected a single top-level field name, found '" + identifier + "' and '" + name + "'");
    }
  }
}

bool is_identifier(std::string_view name) {
  const auto alphanumeric = [](unsigned char c) { return std::isalnum(c) != 0; };
  return std::islower(static_cast<unsigned char>(name[0])) && std::all_of(name.begin(), name.end(), alphanumeric);
}

}  // namespace

ArrayFilters parse_array_filters(bson::DocumentView filters, const PredicateCompiler& compile) {
  ArrayFilters parsed;
  for (const auto& element : filters) {
    if (!element.is_object()) {
      throw OperationError(ErrorCode::type_mismatch, "BSON field 'update.updates.arrayFilters." + std::string(element.name) +
                                                         "' is the wrong type '" + std::string(bson::type_name(element.type())) +
                                                         "', expected type 'object'");
    }
    const bson::DocumentView filter = element.as_document();
    std::string identifier;
    collect_identifier(filter, identifier);
    if (identifier.empty()) {
      throw OperationError(ErrorCode::failed_to_parse, "Cannot use an expression without a top-level field name in arrayFilters");
    }
    if (!is_identifier(identifier)) {
      throw OperationError(ErrorCode::bad_value,
                           "Error parsing array filter :: caused by :: The top-level field name must be "
                           "an alphanumeric string beginning with a lowercase letter, found '" +
                               identifier + "'");
    }
    if (!parsed.emplace(identifier, compile(filter)).second) {
      throw OperationError(ErrorCode::failed_to_parse,
                           "Found multiple array filters with the same top-level field name " + identifier);
    }
  }
  return parsed;
}

}  // namespace server::write
