// Units of time are counted in a calendar.
#pragma once

#include <chrono>
#include <string_view>

#include <date/date.h>

namespace server::query {

enum class DateUnit { year, quarter, month, week, day, hour, minute, second, millisecond };

// Throws FailedToParse "unknown time unit value: x".
DateUnit date_unit(std::string_view name);
bool is_date_unit(std::string_view name);
std::string_view name_of(DateUnit unit);

// Returns 0 if the unit isn't counted in months.
int64_t months_per(DateUnit unit);
std::chrono::milliseconds fixed_length(DateUnit unit);

using LocalTime = date::local_time<std::chrono::milliseconds>;

int64_t floor_div(int64_t a, int64_t b);

// The proleptic Gregorian calendar, over all years that milliseconds in 64 bits can express.
struct CalendarDay {
  int64_t year = 0;
  int month = 0;  // 1 - 12
  int day = 0;    // 1 - 31
};
// Days are counted from 1970-01-01, and may be negative.
CalendarDay calendar_day(int64_t days);
int64_t days_until(const CalendarDay& day);
int64_t day_number(LocalTime time);

// Shifts by the calendar: a month after 31 January is the end of February. Throws 5976500 for an amount that no date allows,
// 5166406 (159 for milliseconds) if the sum is out of range.
LocalTime shifted(LocalTime time, DateUnit unit, int64_t amount);

}  // namespace server::query
