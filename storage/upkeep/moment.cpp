#include "storage/upkeep/moment.h"

#include <charconv>
#include <limits>
#include <optional>

#include "base/error.h"
#include "bson/json.h"

namespace storage {
namespace {

constexpr int64_t second_ms = 1000;

[[noreturn]] void bad(std::string_view text, const std::string& why) {
  throw base::OperationError(base::ErrorCode::bad_value, "'" + std::string(text) + "' " + why);
}

std::optional<uint32_t> number(std::string_view text) {
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Stamp parse_moment(std::string_view text) {
  if (const size_t colon = text.find(':'); colon != text.npos) {
    const auto seconds = number(text.substr(0, colon)), count = number(text.substr(colon + 1));
    if (seconds && count && *seconds != 0) return (Stamp{*seconds} << 32) | *count;
  }
  const auto date = bson::date_from_string(text);
  if (!date) bad(text, "is no moment: give a timestamp (1700000000:5) or a date (2024-02-29T12:00:00Z)");
  if (date->ms % second_ms != 0) bad(text, "has a part of a second, which the log's timestamps don't have");
  const int64_t seconds = date->ms / second_ms;
  if (seconds <= 0 || seconds > std::numeric_limits<uint32_t>::max()) bad(text, "is outside of what timestamps can say");
  return (static_cast<Stamp>(seconds) << 32) | std::numeric_limits<uint32_t>::max();
}

std::string moment_text(Stamp moment) {
  return std::to_string(moment >> 32) + ":" + std::to_string(static_cast<uint32_t>(moment));
}

}  // namespace storage
