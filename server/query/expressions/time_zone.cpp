#include "server/query/expressions/time_zone.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <stdexcept>
#include <string>

#include "server/query/expressions/operator_support.h"

namespace server::query {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Beyond the years ±30000 the zone's first and last rules hold; the zone database counts years in 16 bits.
constexpr int64_t known_ms = int64_t{28'000} * 366 * 24 * 3600 * 1000;

int64_t within_known(int64_t ms) {
  return std::clamp(ms, -known_ms, known_ms);
}

// Near the ends of 64 bits the sum stays within them.
int64_t plus(int64_t ms, milliseconds by) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(ms, by.count(), &sum)) return sum;
  return by.count() > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// "+05", "+0530", "+05:30"
std::optional<seconds> fixed_offset(std::string_view name) {
  const auto digit = [&](size_t i) { return std::isdigit(static_cast<unsigned char>(name[i])) != 0; };
  const size_t colon = name.size() == 6 && name[3] == ':' ? 1 : 0;
  const bool minutes = name.size() == 5 + colon && name.size() > 3;
  if ((name.size() != 3 && !minutes) || !digit(1) || !digit(2)) return std::nullopt;
  if (minutes && (!digit(3 + colon) || !digit(4 + colon))) return std::nullopt;
  int offset = ((name[1] - '0') * 10 + (name[2] - '0')) * 60;
  if (minutes) offset += (name[3 + colon] - '0') * 10 + (name[4 + colon] - '0');
  return std::chrono::minutes(name[0] == '-' ? -offset : offset);
}

const date::time_zone* named_zone(std::string_view name) {
  try {
    return date::locate_zone(std::string(name));
  } catch (const std::runtime_error&) {
    return nullptr;
  }
}

}  // namespace

TimeZone::TimeZone(std::string_view name) {
  if (name.empty() || name == "UTC" || name == "GMT" || name == "Z") return;
  if (name[0] == '+' || name[0] == '-') {
    if (const auto offset = fixed_offset(name)) {
      fixed_ = *offset;
      return;
    }
  } else if ((zone_ = named_zone(name))) {
    return;
  }
  fail(40485, "unrecognized time zone identifier: \"" + std::string(name) + "\"");
}

seconds TimeZone::offset(bson::Date when) const {
  if (!zone_) return fixed_;
  return zone_->get_info(date::floor<seconds>(date::sys_time<milliseconds>(milliseconds(within_known(when.ms))))).offset;
}

LocalTime TimeZone::local(bson::Date when) const {
  return LocalTime(milliseconds(plus(when.ms, offset(when))));
}

bson::Date TimeZone::utc(LocalTime local, std::optional<seconds> offset) const {
  const int64_t ms = local.time_since_epoch().count();
  seconds found = fixed_;
  if (zone_) {
    const auto info = zone_->get_info(date::floor<seconds>(LocalTime(milliseconds(within_known(ms)))));
    const bool later = info.result == date::local_info::ambiguous && offset == info.second.offset;
    found = later ? info.second.offset : info.first.offset;
  }
  return {plus(ms, -found)};
}

}  // namespace server::query
