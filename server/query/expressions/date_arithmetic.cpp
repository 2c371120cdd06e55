#include "server/query/expressions/date_arithmetic.h"

#include <string>

#include "base/error.h"

namespace server::query {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t calendar_bins_max = 100'000'000'000;

bool on_the_calendar(DateUnit unit) {
  return unit <= DateUnit::day;
}

int64_t months_since_2000(const CalendarDay& day) {
  return (day.year - 2000) * 12 + day.month - 1;
}

int64_t local_seconds(const TimeZone& zone, bson::Date date) {
  return floor_div(date.ms, 1000) + zone.offset(date).count();
}

int64_t local_day(const TimeZone& zone, bson::Date date) {
  return floor_div(local_seconds(zone, date), 24 * 3600);
}

// Returns the weeks since some day that is a `first_day`; 1970 began on a Thursday.
int64_t week_number(int64_t day, int first_day) {
  return floor_div(day + 4 - first_day, 7);
}

// The zone's clocks say when an hour or minute begins; hours that a change of the clocks repeats or skips are counted by the time
// that passes.
int64_t passed(const TimeZone& zone, bson::Date from, bson::Date to, int64_t length_s) {
  const int64_t set_back = (zone.offset(from) - zone.offset(to)).count();
  return floor_div(local_seconds(zone, to), length_s) - floor_div(local_seconds(zone, from), length_s) + set_back / length_s;
}

LocalTime begin_of(int64_t day) {
  return LocalTime(date::local_days(date::days(0)).time_since_epoch()) + milliseconds(day * 24 * 3600 * 1000);
}

constexpr int64_t day_2000 = 10'957;  // 2000-01-01, a Saturday

bson::Date truncated_time(const TimeZone& zone, bson::Date date, DateUnit unit, int64_t size) {
  int64_t length = 0, since = 0, begin = 0;
  if (__builtin_mul_overflow(size, fixed_length(unit).count(), &length)) {
    throw base::OperationError(5439002, "dateTrunc unsupported binSize value: overflow in conversion to milliseconds");
  }
  const int64_t origin = zone.utc(begin_of(day_2000)).ms;
  if (__builtin_sub_overflow(date.ms, origin, &since)) throw base::OperationError(5439000, "dateTrunc overflowed");
  const int64_t into = since % length;
  if (__builtin_sub_overflow(date.ms, into < 0 ? into + length : into, &begin))
    throw base::OperationError(5439001, "dateTrunc overflowed");
  return {begin};
}

}  // namespace

bson::Date moved(const TimeZone& zone, bson::Date date, DateUnit unit, int64_t amount) {
  if (!on_the_calendar(unit)) return {shifted(LocalTime(milliseconds(date.ms)), unit, amount).time_since_epoch().count()};
  return zone.utc(shifted(zone.local(date), unit, amount), zone.offset(date));
}

int64_t difference(const TimeZone& zone, bson::Date from, bson::Date to, DateUnit unit, int first_day) {
  const auto between = [&](auto count) { return count(local_day(zone, to)) - count(local_day(zone, from)); };
  switch (unit) {
    case DateUnit::year:
    case DateUnit::quarter:
    case DateUnit::month:
      return between([&](int64_t day) { return floor_div(months_since_2000(calendar_day(day)), months_per(unit)); });
    case DateUnit::week: return between([&](int64_t day) { return week_number(day, first_day); });
    case DateUnit::day: return between([](int64_t day) { return day; });
    case DateUnit::millisecond: {
      int64_t ms = 0;
      if (__builtin_sub_overflow(to.ms, from.ms, &ms)) throw base::OperationError(5166308, "dateDiff overflowed");
      return ms;
    }
    default: return passed(zone, from, to, std::chrono::duration_cast<seconds>(fixed_length(unit)).count());
  }
}

bson::Date truncated(const TimeZone& zone, bson::Date date, DateUnit unit, int64_t size, int first_day) {
  if (!on_the_calendar(unit)) return truncated_time(zone, date, unit, size);
  if (size > calendar_bins_max) {
    throw base::OperationError(5439006,
                               "dateTrunc unsupported binSize value: it must be at most " + std::to_string(calendar_bins_max));
  }
  const int64_t day = local_day(zone, date);
  if (const int64_t months = months_per(unit)) {
    const int64_t bin = floor_div(months_since_2000(calendar_day(day)), months * size);
    return zone.utc(shifted(begin_of(day_2000), unit, bin * size));
  }
  const int64_t origin = unit == DateUnit::week ? day_2000 + (first_day + 1) % 7 : day_2000;
  const int64_t days = (unit == DateUnit::week ? 7 : 1) * size;
  return zone.utc(shifted(begin_of(origin), DateUnit::day, floor_div(day - origin, days) * days));
}

}  // namespace server::query
