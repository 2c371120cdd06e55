// Dates as text.
#pragma once

#include <optional>
#include <string_view>

#include "bson/types.h"

namespace server::query {

// ISO 8601: "2026-11-20", "2026-11-20T10:15:00.123Z", with offsets; no zone means UTC.
std::optional<bson::Date> parse_iso_date(std::string_view text);

}  // namespace server::query
