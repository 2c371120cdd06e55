#include "server/core/read_preference.h"

#include <algorithm>
#include <string>

#include "base/error.h"
#include "server/core/arguments.h"

namespace server {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr std::string_view modes[] = {"primary", "primaryPreferred", "secondary", "secondaryPreferred", "nearest"};

// Without tags, or with one empty set of tags, any member will do.
bool names_tags(const std::optional<bson::DocumentView>& tags) {
  if (!tags || tags->empty()) return false;
  const bson::Element first = tags->first();
  return tags->count() > 1 || !first.is_object() || !first.as_document().empty();
}

// Refuses options that make sense only if there is a choice of members.
void check_primary(const Arguments& preference) {
  if (names_tags(preference.array("tags")))
    throw OperationError(ErrorCode::bad_value, "Only empty tags are allowed with primary read preference");
  if (preference.unsigned_integer("maxStalenessSeconds").value_or(0) != 0) {
    throw OperationError(ErrorCode::bad_value, "maxStalenessSeconds can not be set for the primary mode");
  }
  const auto hedge = preference.object("hedge");
  if (hedge && Arguments(preference.dotted("hedge"), *hedge).boolean("enabled").value_or(true)) {
    throw OperationError(ErrorCode::invalid_options, "cannot enable hedging for $readPreference mode \"primaryOnly\"");
  }
}

}  // namespace

void check_read_preference(const bson::ValueView& preference) {
  if (!preference.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "$readPreference has incorrect type: expected object but got " +
                                                       std::string(bson::type_name(preference.type())));
  }
  const Arguments arguments("readPreference", preference.as_document());
  const std::string_view mode = arguments.required_string("mode");
  if (std::find(std::begin(modes), std::end(modes), mode) == std::end(modes)) {
    throw OperationError(ErrorCode::bad_value,
                         "Enumeration value '" + std::string(mode) + "' for field 'readPreference.mode' is not a valid value.");
  }
  arguments.array("tags");
  arguments.unsigned_integer("maxStalenessSeconds");
  if (const auto hedge = arguments.object("hedge")) Arguments(arguments.dotted("hedge"), *hedge).boolean("enabled");
  if (mode == "primary") check_primary(arguments);
}

}  // namespace server
