#include "server/query/expressions/date_units.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

namespace server::query {

namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 9> names = {"year", "quarter", "month",  "week",       "day",
                                                   "hour", "minute",  "second", "millisecond"};

constexpr int64_t ms_per_day = int64_t{24} * 3600 * 1000;

// The first and the last millisecond are this many years and days apart, so no larger amount leads from one date to another.
constexpr int64_t years_max = 584'942'417;
constexpr int64_t days_max = 213'503'982'334;

// Parts of a year or day have the same limit as the whole.
int64_t amount_max(DateUnit unit) {
  if (unit == DateUnit::millisecond) return INT64_MAX;
  if (const int64_t months = months_per(unit)) return (years_max + 1) * (12 / months) - 1;
  if (unit == DateUnit::week) return days_max / 7;
  return (days_max + 1) * (ms_per_day / fixed_length(unit).count()) - 1;
}

void check_amount(DateUnit unit, int64_t amount) {
  if (amount <= amount_max(unit) && amount >= -amount_max(unit)) return;
  throw base::OperationError(
      5976500, "invalid dateAdd 'amount' parameter value: " + std::to_string(amount) + " " + std::string(name_of(unit)));
}

[[noreturn]] void out_of_reach(DateUnit unit) {
  if (unit == DateUnit::millisecond) throw base::OperationError(159, "dateAdd overflowed while adding milliseconds");
  throw base::OperationError(5166406, "dateAdd overflowed");
}

__extension__ using Wide = __int128;  // the distance of two dates may not fit 64 bits even if both do

LocalTime sum_of(int64_t from_ms, int64_t amount, DateUnit unit) {
  const Wide sum = static_cast<Wide>(amount) * fixed_length(unit).count() + from_ms;
  if (sum < INT64_MIN || sum > INT64_MAX) out_of_reach(unit);
  return LocalTime(milliseconds(static_cast<int64_t>(sum)));
}

int days_of_month(int64_t year, int month) {
  const int64_t first = days_until({year, month, 1});
  return static_cast<int>(days_until({year + month / 12, month % 12 + 1, 1}) - first);
}

}  // namespace

int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

bool is_date_unit(std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

DateUnit date_unit(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end())
    throw base::OperationError(base::ErrorCode::failed_to_parse, "unknown time unit value: " + std::string(name));
  return static_cast<DateUnit>(found - names.begin());
}

std::string_view name_of(DateUnit unit) {
  return names[static_cast<size_t>(unit)];
}

int64_t months_per(DateUnit unit) {
  return unit == DateUnit::year ? 12 : unit == DateUnit::quarter ? 3 : unit == DateUnit::month ? 1 : 0;
}

milliseconds fixed_length(DateUnit unit) {
  switch (unit) {
    case DateUnit::week: return std::chrono::hours(7 * 24);
    case DateUnit::day: return std::chrono::hours(24);
    case DateUnit::hour: return std::chrono::hours(1);
    case DateUnit::minute: return std::chrono::minutes(1);
    case DateUnit::second: return std::chrono::seconds(1);
    default: return milliseconds(1);
  }
}

// Years are counted from March, so that a leap day is the last day of its year; 400 of them always have the same length.
CalendarDay calendar_day(int64_t days) {
  constexpr int64_t era_days = 146'097, epoch = 719'468;  // from 0000-03-01 to 1970-01-01
  days += epoch;
  const int64_t era = floor_div(days, era_days);
  const int64_t in_era = days - era * era_days;
  const int64_t year = (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
  const int64_t in_year = in_era - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * in_year + 2) / 153;
  const auto day = static_cast<int>(in_year - (153 * month + 2) / 5 + 1);
  const bool next = month >= 10;
  return {era * 400 + year + (next ? 1 : 0), static_cast<int>(next ? month - 9 : month + 3), day};
}

int64_t days_until(const CalendarDay& day) {
  constexpr int64_t era_days = 146'097, epoch = 719'468;
  const int64_t year = day.year - (day.month <= 2 ? 1 : 0);
  const int64_t era = floor_div(year, 400);
  const int64_t of_era = year - era * 400;
  const int64_t in_year = (153 * (day.month > 2 ? day.month - 3 : day.month + 9) + 2) / 5 + day.day - 1;
  return era * era_days + of_era * 365 + of_era / 4 - of_era / 100 + in_year - epoch;
}

int64_t day_number(LocalTime time) {
  return floor_div(time.time_since_epoch().count(), ms_per_day);
}

LocalTime shifted(LocalTime time, DateUnit unit, int64_t amount) {
  check_amount(unit, amount);
  const int64_t from = time.time_since_epoch().count();
  if (months_per(unit) == 0) return sum_of(from, amount, unit);
  const int64_t days = day_number(time);
  const CalendarDay day = calendar_day(days);
  const int64_t months = day.year * 12 + day.month - 1 + amount * months_per(unit);
  CalendarDay moved{floor_div(months, 12), 0, 0};
  moved.month = static_cast<int>(months - moved.year * 12) + 1;
  moved.day = std::min(day.day, days_of_month(moved.year, moved.month));
  return sum_of(from, days_until(moved) - days, DateUnit::day);
}

}  // namespace server::query
