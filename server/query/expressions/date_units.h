// Units of time, and the calendar they are counted in.
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

// 0: not counted in months.
int64_t months_per(DateUnit unit);
std::chrono::milliseconds fixed_length(DateUnit unit);

using LocalTime = date::local_time<std::chrono::milliseconds>;

int64_t floor_div(int64_t a, int64_t b);

// The proleptic Gregorian calendar, over all the years that milliseconds in 64 bits can tell.
struct CalendarDay {
  int64_t year = 0;
  int month = 0;  // 1 - 12
  int day = 0;    // 1 - 31
};
// Days are counted from 1970-01-01, and may be negative.
CalendarDay calendar_day(int64_t days);
int64_t days_until(const CalendarDay& day);
int64_t day_number(LocalTime time);

// By the calendar: a month after 31 January is the end of February. Throws 5976500 for an amount that no date allows,
// 5166406 (159 for milliseconds) where the sum is out of reach.
LocalTime shifted(LocalTime time, DateUnit unit, int64_t amount);

}  // namespace server::query
