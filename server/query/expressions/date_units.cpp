#include "server/query/expressions/date_units.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/error.h"

namespace server::query {

namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 9> names = {"year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond"};

[[noreturn]] void out_of_reach(DateUnit unit, int64_t amount) {
  throw base::OperationError(5976500, "invalid dateAdd 'amount' parameter value: " + std::to_string(amount) + " " + std::string(names[static_cast<size_t>(unit)]));
}

}  // namespace

DateUnit date_unit(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw base::OperationError(base::ErrorCode::failed_to_parse, "unknown time unit value: " + std::string(name));
  return static_cast<DateUnit>(found - names.begin());
}

int64_t months_per(DateUnit unit) { return unit == DateUnit::year ? 12 : unit == DateUnit::quarter ? 3 : unit == DateUnit::month ? 1 : 0; }

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

LocalTime shifted(LocalTime time, DateUnit unit, int64_t amount) {
  int64_t by = 0;
  if (months_per(unit) == 0) {
    int64_t to = 0;
    if (__builtin_mul_overflow(amount, fixed_length(unit).count(), &by) || __builtin_add_overflow(time.time_since_epoch().count(), by, &to)) out_of_reach(unit, amount);
    return LocalTime(milliseconds(to));
  }
  const auto day = date::floor<date::days>(time);
  const date::year_month_day ymd(day);
  int64_t months = int64_t{static_cast<int>(ymd.year())} * 12 + static_cast<unsigned>(ymd.month()) - 1;
  if (__builtin_mul_overflow(amount, months_per(unit), &by) || __builtin_add_overflow(months, by, &months)) out_of_reach(unit, amount);
  const int64_t year = months / 12 - (months % 12 < 0);
  if (year < static_cast<int>(date::year::min()) || year > static_cast<int>(date::year::max())) out_of_reach(unit, amount);
  const date::year_month to = date::year(static_cast<int>(year)) / date::month(static_cast<unsigned>(months - year * 12) + 1);
  const date::day last = (to / date::last).day();
  return LocalTime(date::local_days(to / std::min(ymd.day(), last)).time_since_epoch()) + (time - day);
}

}  // namespace server::query
