// Units of time, and steps of so many of them.
#pragma once

#include <chrono>
#include <string_view>

#include <date/date.h>

namespace server::query {

enum class DateUnit { year, quarter, month, week, day, hour, minute, second, millisecond };

// Throws FailedToParse "unknown time unit value: x".
DateUnit date_unit(std::string_view name);

// 0: not counted in months.
int64_t months_per(DateUnit unit);
std::chrono::milliseconds fixed_length(DateUnit unit);

// By the calendar: a month after 31 January is the end of February. Throws 5976500 where that is out of reach.
using LocalTime = date::local_time<std::chrono::milliseconds>;
LocalTime shifted(LocalTime time, DateUnit unit, int64_t amount);

}  // namespace server::query
