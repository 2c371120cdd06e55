// A time zone says how far its clocks are from UTC at a given moment.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include <date/tz.h>

#include "bson/types.h"
#include "server/query/expressions/date_units.h"

namespace server::query {

// A zone is immutable, so threads may share one.
class TimeZone {
 public:
  TimeZone() = default;  // UTC
  // Accepts "", "UTC", "+05", "+05:30", "-0800", "Europe/Berlin". Throws 40485 for other names.
  explicit TimeZone(std::string_view name);

  bool is_utc() const { return !zone_ && fixed_ == std::chrono::seconds(0); }
  // Returns what is added to UTC to get local time.
  std::chrono::seconds offset(bson::Date when) const;
  LocalTime local(bson::Date when) const;
  // A time that the clocks skip is read by the offset before the skip: 2:20 becomes 3:20. A time that they show twice is the
  // earlier of both, unless `offset` belongs to the later.
  bson::Date utc(LocalTime local, std::optional<std::chrono::seconds> offset = std::nullopt) const;

 private:
  const date::time_zone* zone_ = nullptr;  // nullptr: `fixed_` holds always
  std::chrono::seconds fixed_{0};
};

}  // namespace server::query
