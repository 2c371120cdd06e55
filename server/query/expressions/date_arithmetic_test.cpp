#include "server/query/expressions/date_arithmetic.h"

#include <catch2/catch.hpp>

#include <functional>
#include <random>

#include "base/error.h"
#include "base/testing.h"
#include "bson/json.h"

using namespace server::query;
using base::testing::code_of;

namespace {

bson::Date at(const std::string& text) {
  return bson::date_from_string(text).value();
}
std::string shown(bson::Date date) {
  return bson::to_json(bson::Value(date));
}

const char* const zones[] = {"UTC",          "America/New_York",  "Europe/Amsterdam", "Australia/Lord_Howe", "Australia/Eucla",
                             "Asia/Kolkata", "America/Sao_Paulo", "America/Havana",   "Pacific/Apia",        "+05:30",
                             "-0800",        "Africa/Casablanca", "Asia/Kathmandu",   "Europe/London",       "-03"};
constexpr DateUnit units[] = {DateUnit::year, DateUnit::quarter, DateUnit::month,  DateUnit::week,       DateUnit::day,
                              DateUnit::hour, DateUnit::minute,  DateUnit::second, DateUnit::millisecond};

bool short_unit(DateUnit unit) {
  return unit > DateUnit::day;
}

struct Random {
  explicit Random(uint32_t seed) : store(seed) {}
  int64_t between(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(store); }
  // Half of the dates are near a change of the clocks.
  bson::Date date() {
    const bson::Date any{between(at("1965-01-01").ms, at("2036-12-31").ms)};
    if (between(0, 1)) return any;
    const char* changes[] = {"2024-03-10T07:00:00Z", "2024-11-03T06:00:00Z", "2020-10-25T01:00:00Z", "2021-03-28T01:00:00Z",
                             "2021-04-03T15:00:00Z", "2020-10-03T15:30:00Z", "2018-11-04T03:00:00Z", "2024-11-03T05:00:00Z",
                             "2011-12-30T10:00:00Z", "2000-01-01T00:00:00Z"};
    return {at(changes[between(0, std::size(changes) - 1)]).ms + between(-2 * 86'400'000, 2 * 86'400'000)};
  }
  TimeZone zone() { return TimeZone(zones[between(0, std::size(zones) - 1)]); }
  DateUnit unit() { return units[between(0, std::size(units) - 1)]; }
  std::mt19937 store;
};

struct Move {
  const char *zone, *start;
  DateUnit unit;
  int64_t amount;
  const char* result;
};

void check_moves(std::initializer_list<Move> moves) {
  for (const Move& move : moves) {
    INFO(move.zone << " " << move.start << " " << move.amount);
    CHECK(shown(moved(TimeZone(move.zone), at(move.start), move.unit, move.amount)) == shown(at(move.result)));
  }
}

// Returns the next day, without a formula.
CalendarDay day_after(CalendarDay day) {
  constexpr int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = day.year % 4 == 0 && (day.year % 100 != 0 || day.year % 400 == 0);
  const int length = lengths[day.month - 1] + (leap && day.month == 2);
  if (++day.day <= length) return day;
  day.day = 1;
  if (++day.month <= 12) return day;
  return {day.year + 1, 1, 1};
}

bool same(const CalendarDay& a, const CalendarDay& b) {
  return a.year == b.year && a.month == b.month && a.day == b.day;
}

}  // namespace

TEST_CASE("the calendar counts days as one does by hand, before and after Christ") {
  for (const int64_t from :
       {int64_t{-200'000}, int64_t{-800'000}, int64_t{0}, int64_t{100'000'000'000}, int64_t{-100'000'000'000}}) {
    CalendarDay day = calendar_day(from);
    if (from == 0) CHECK(same(day, {1970, 1, 1}));
    for (int64_t n = from; n < from + 1500; ++n, day = day_after(day)) {
      REQUIRE(same(calendar_day(n), day));
      REQUIRE(days_until(day) == n);
    }
  }
}

TEST_CASE("hours and shorter units are time that passes") {
  check_moves({
      {"America/New_York", "2024-03-10T06:30:00Z", DateUnit::hour, 1, "2024-03-10T07:30:00Z"},
      {"America/New_York", "2020-03-08T07:20:00Z", DateUnit::minute, -25, "2020-03-08T06:55:00Z"},
      {"Europe/Amsterdam", "2020-10-25T00:50:05Z", DateUnit::hour, 1, "2020-10-25T01:50:05Z"},
      {"Europe/Amsterdam", "2020-10-25T01:10:05Z", DateUnit::minute, -20, "2020-10-25T00:50:05Z"},
      {"Australia/Lord_Howe", "2021-04-03T14:50:05Z", DateUnit::minute, 20, "2021-04-03T15:10:05Z"},
      {"Australia/Lord_Howe", "2020-10-03T15:30:20Z", DateUnit::second, -50, "2020-10-03T15:29:30Z"},
  });

  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    const DateUnit unit = units[random.between(5, 8)];
    const bson::Date date = random.date();
    const int64_t amount = random.between(-100'000, 100'000);
    REQUIRE(moved(random.zone(), date, unit, amount).ms == date.ms + amount * fixed_length(unit).count());
  }
}

TEST_CASE("days and longer units keep the time on the clock") {
  check_moves({
      {"Europe/Amsterdam", "2020-10-24T18:10:00Z", DateUnit::day, 1, "2020-10-25T19:10:00Z"},
      // The clocks skip the time: the result is later by as much.
      {"Europe/Amsterdam", "2021-03-27T01:20:00Z", DateUnit::day, 1, "2021-03-28T01:20:00Z"},
      {"Europe/Amsterdam", "2021-03-29T00:20:00Z", DateUnit::day, -1, "2021-03-28T01:20:00Z"},
      {"Europe/Amsterdam", "2020-11-28T01:20:00Z", DateUnit::month, 4, "2021-03-28T01:20:00Z"},
      {"Australia/Lord_Howe", "2020-10-02T15:45:00Z", DateUnit::day, 1, "2020-10-03T15:45:00Z"},
      // The clocks show the time twice: the offset stays.
      {"Europe/Amsterdam", "2020-10-24T00:00:01Z", DateUnit::day, 1, "2020-10-25T00:00:01Z"},
      {"Europe/Amsterdam", "2020-10-26T01:30:00Z", DateUnit::day, -1, "2020-10-25T01:30:00Z"},
      {"America/New_York", "2020-10-31T05:00:01Z", DateUnit::day, 1, "2020-11-01T05:00:01Z"},
      {"America/New_York", "2020-11-02T06:30:00Z", DateUnit::day, -1, "2020-11-01T06:30:00Z"},
      // The day is cut to the month's last.
      {"Europe/Paris", "2021-01-30T23:30:00Z", DateUnit::month, 1, "2021-02-27T23:30:00Z"},
      {"America/New_York", "2020-12-31T03:00:00Z", DateUnit::month, -1, "2020-12-01T03:00:00Z"},
      {"America/New_York", "2020-12-31T03:00:00Z", DateUnit::quarter, -2, "2020-07-01T02:00:00Z"},
      {"UTC", "2016-02-29T00:00:00Z", DateUnit::year, 2, "2018-02-28T00:00:00Z"},
      {"UTC", "2016-02-29T00:00:00Z", DateUnit::year, -4, "2012-02-29T00:00:00Z"},
      {"UTC", "2020-08-31T10:05:00.005Z", DateUnit::month, -18, "2019-02-28T10:05:00.005Z"},
      {"+05:30", "2021-03-31T20:00:00Z", DateUnit::month, 1, "2021-04-30T20:00:00Z"},
      {"+05:30", "2021-03-30T20:00:00Z", DateUnit::month, 1, "2021-04-29T20:00:00Z"},
  });

  Random random(2);
  for (int i = 0; i < 3000; ++i) {
    const TimeZone zone = random.zone();
    const bson::Date date = random.date();
    const int64_t days = random.between(-800, 800);
    const bson::Date result = moved(zone, date, DateUnit::day, days);
    const LocalTime wanted = zone.local(date) + std::chrono::hours(24 * days), got = zone.local(result);
    REQUIRE(moved(zone, date, DateUnit::day, 0) == date);
    if (got != wanted) {
      // The clocks never show the wanted time, and the offset before the change stays.
      REQUIRE(got > wanted);
      REQUIRE(zone.local({result.ms - (got - wanted).count()}) < wanted);
    }
    if (days % 7 == 0) REQUIRE(moved(zone, date, DateUnit::week, days / 7) == result);
  }
}

TEST_CASE("amounts and sums that no date allows are refused") {
  const TimeZone utc;
  const bson::Date any = at("2016-01-01"), small = moved(utc, at("2000-03-31"), DateUnit::year, -291'002'000);
  struct {
    DateUnit unit;
    int64_t most;
  } const limits[] = {{DateUnit::year, 584'942'417},
                      {DateUnit::quarter, 584'942'418LL * 4 - 1},
                      {DateUnit::month, 584'942'418LL * 12 - 1},
                      {DateUnit::day, 213'503'982'334},
                      {DateUnit::hour, 213'503'982'335 * 24 - 1},
                      {DateUnit::minute, 213'503'982'335 * 1440 - 1},
                      {DateUnit::second, 213'503'982'335 * 86'400 - 1}};
  for (const auto& limit : limits) {
    CHECK(code_of([&] { moved(utc, any, limit.unit, limit.most + 1); }) == 5976500);
    CHECK(code_of([&] { moved(utc, any, limit.unit, -limit.most - 1); }) == 5976500);
    CHECK(code_of([&] { moved(utc, any, limit.unit, limit.most); }) == 5166406);
    CHECK(code_of([&] { moved(utc, any, limit.unit, INT64_MIN); }) == 5976500);
  }
  CHECK(code_of([&] { moved(utc, any, DateUnit::millisecond, INT64_MAX); }) == 159);
  CHECK(difference(utc, small, moved(utc, small, DateUnit::year, 550'000'000), DateUnit::year) == 550'000'000);
  for (const bson::Date edge : {bson::Date{INT64_MIN}, bson::Date{INT64_MAX}}) {
    for (const char* name : zones) {
      const TimeZone zone(name);
      for (const DateUnit unit : units) {
        code_of([&] { moved(zone, edge, unit, 1); });
        code_of([&] { truncated(zone, edge, unit, 3); });
        code_of([&] { difference(zone, any, edge, unit); });
      }
    }
  }
}

TEST_CASE("differences count how often a unit begins") {
  struct {
    const char *zone, *from, *to;
    DateUnit unit;
    int64_t result;
  } const cases[] = {
      {"America/New_York", "2024-11-03T04:00:00Z", "2024-11-04T04:00:00Z", DateUnit::hour, 24},
      {"America/New_York", "2024-11-03T04:00:00Z", "2024-11-04T04:00:00Z", DateUnit::minute, 1440},
      {"America/New_York", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z", DateUnit::hour, 25},
      {"America/New_York", "2024-11-03T04:00:00Z", "2024-11-04T05:00:00Z", DateUnit::day, 1},
      {"America/New_York", "2020-11-01T05:00:00Z", "2020-11-01T06:00:00Z", DateUnit::hour, 1},
      {"America/New_York", "2020-11-01T06:00:00Z", "2020-11-01T05:00:00Z", DateUnit::hour, -1},
      {"America/New_York", "2020-03-08T06:45:00Z", "2020-03-08T07:00:00Z", DateUnit::hour, 1},
      {"Australia/Eucla", "2020-11-10T12:10:00Z", "2020-11-10T12:20:00Z", DateUnit::hour, 1},
      {"Australia/Lord_Howe", "2021-04-03T14:00:00Z", "2021-04-03T15:30:00Z", DateUnit::hour, 1},
      {"Australia/Lord_Howe", "2021-04-03T14:00:00Z", "2021-04-03T15:30:00Z", DateUnit::minute, 90},
      {"Australia/Lord_Howe", "2021-04-03T14:00:00Z", "2021-04-03T15:30:00Z", DateUnit::second, 5400},
      {"Australia/Lord_Howe", "2021-10-02T14:30:00Z", "2021-10-02T15:30:00Z", DateUnit::hour, 1},
      {"Australia/Lord_Howe", "2021-10-02T14:30:00Z", "2021-10-02T15:30:00Z", DateUnit::minute, 60},
      {"America/New_York", "2021-01-01T04:59:59Z", "2021-01-01T05:00:00Z", DateUnit::year, 1},
      {"America/New_York", "2021-01-01T04:59:59Z", "2021-01-01T05:00:00Z", DateUnit::quarter, 1},
      {"UTC", "2021-01-01T04:59:59Z", "2021-01-01T05:00:00Z", DateUnit::month, 0},
      {"UTC", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00:01Z", DateUnit::second, 2},
  };
  for (const auto& c : cases) {
    INFO(c.zone << " " << c.from << " " << c.to);
    CHECK(difference(TimeZone(c.zone), at(c.from), at(c.to), c.unit) == c.result);
  }
  const TimeZone york("America/New_York");
  CHECK(difference(york, at("2021-01-17T05:00:00Z"), at("2021-01-17T04:59:00Z"), DateUnit::week) == -1);
  CHECK(difference(york, at("2020-11-13T05:00:00Z"), at("2020-11-15T05:00:00Z"), DateUnit::week, 1) == 0);
  CHECK(difference(york, at("2020-11-04T05:00:00Z"), at("2020-11-10T05:00:00Z"), DateUnit::week, 3) == 0);
  CHECK(code_of([] { difference(TimeZone(), {INT64_MIN}, {INT64_MAX}, DateUnit::millisecond); }) == 5166308);

  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    const TimeZone zone = random.zone();
    const bson::Date a = random.date(), b = random.date(), c = random.date();
    const DateUnit unit = random.unit();
    const int first = static_cast<int>(random.between(0, 6));
    REQUIRE(difference(zone, a, b, unit, first) == -difference(zone, b, a, unit, first));
    if (!short_unit(unit)) {
      REQUIRE(difference(zone, a, b, unit, first) + difference(zone, b, c, unit, first) == difference(zone, a, c, unit, first));
      // The model is that a date lies in the unit that its truncation begins.
      const bool together = truncated(zone, a, unit, 1, first) == truncated(zone, b, unit, 1, first);
      REQUIRE((difference(zone, a, b, unit, first) == 0) == together);
    } else {
      // If no change is shorter than an hour, the result is the time that passed, cut off as on UTC's clocks if the offset is in
      // whole hours.
      const int64_t length = fixed_length(unit).count();
      const int64_t passed = floor_div(b.ms, length) - floor_div(a.ms, length);
      const int64_t off = difference(zone, a, b, unit, first) - passed;
      REQUIRE(std::abs(off) <= (unit == DateUnit::hour ? 1 : 0));
    }
  }
}

TEST_CASE("dates are cut off to bins counted from 2000") {
  struct {
    const char *zone, *date;
    DateUnit unit;
    int64_t size;
    int first_day;
    const char* result;
  } const cases[] = {
      {"America/New_York", "2024-11-03T06:45:00Z", DateUnit::minute, 30, 0, "2024-11-03T06:30:00Z"},
      {"America/New_York", "2024-11-03T06:45:00Z", DateUnit::hour, 1, 0, "2024-11-03T06:00:00Z"},
      {"America/New_York", "2024-11-03T06:45:00Z", DateUnit::day, 1, 0, "2024-11-03T04:00:00Z"},
      {"America/New_York", "2021-12-01T18:23:36Z", DateUnit::hour, 4, 0, "2021-12-01T17:00:00Z"},
      {"UTC", "2020-11-01T18:23:36Z", DateUnit::hour, 2, 0, "2020-11-01T18:00:00Z"},
      {"UTC", "2021-02-15T18:23:36Z", DateUnit::week, 1, 0, "2021-02-14T00:00:00Z"},
      {"America/New_York", "2000-01-30T18:00:00Z", DateUnit::week, 2, 1, "2000-01-17T05:00:00Z"},
      {"UTC", "2000-01-26T00:00:00Z", DateUnit::week, 2, 3, "2000-01-19T00:00:00Z"},
      {"UTC", "1999-12-19T23:59:59.999Z", DateUnit::week, 2, 1, "1999-12-06T00:00:00Z"},
      {"UTC", "2000-01-02T00:00:00Z", DateUnit::week, 1, 6, "2000-01-01T00:00:00Z"},
      {"UTC", "1999-12-31T23:59:59.999Z", DateUnit::millisecond, 1500, 0, "1999-12-31T23:59:58.500Z"},
      {"UTC", "1999-12-29T23:59:59.999Z", DateUnit::day, 2, 0, "1999-12-28T00:00:00Z"},
      {"UTC", "2000-01-08T00:00:02Z", DateUnit::day, 2, 0, "2000-01-07T00:00:00Z"},
      {"UTC", "1900-03-31T23:59:59.999Z", DateUnit::month, 3, 0, "1900-01-01T00:00:00Z"},
      {"UTC", "2021-05-01T00:00:00Z", DateUnit::quarter, 2, 0, "2021-01-01T00:00:00Z"},
      {"UTC", "2021-05-01T00:00:00Z", DateUnit::year, 2, 0, "2020-01-01T00:00:00Z"},
      {"+05:30", "2021-05-01T00:10:00Z", DateUnit::hour, 1, 0, "2021-04-30T23:30:00Z"},
      {"America/Sao_Paulo", "2018-11-04T12:00:00Z", DateUnit::day, 1, 0,
       "2018-11-04T03:00:00Z"},  // at midnight clocks went to 1:00
      // the clocks showed midnight twice
      {"America/Havana", "2024-11-03T05:30:00Z", DateUnit::day, 1, 0, "2024-11-03T04:00:00Z"},
  };
  for (const auto& c : cases) {
    INFO(c.zone << " " << c.date << " " << c.size);
    CHECK(shown(truncated(TimeZone(c.zone), at(c.date), c.unit, c.size, c.first_day)) == shown(at(c.result)));
  }

  Random random(4);
  for (int i = 0; i < 5000; ++i) {
    const TimeZone zone = random.zone();
    const bson::Date date = random.date();
    const DateUnit unit = random.unit();
    const int64_t size = random.between(1, 40);
    const int first = static_cast<int>(random.between(0, 6));
    const bson::Date begin = truncated(zone, date, unit, size, first);
    REQUIRE(begin <= date);
    REQUIRE(truncated(zone, begin, unit, size, first) == begin);
    const bson::Date next = moved(zone, begin, unit, size);
    REQUIRE((next > date || zone.local(next) >= zone.local(date)));
    if (short_unit(unit)) {
      const int64_t origin = truncated(zone, at("2000-01-01T12:00:00Z"), DateUnit::year, 1).ms;
      REQUIRE((begin.ms - origin) % (fixed_length(unit).count() * size) == 0);
      REQUIRE(next > date);
    }
  }
}

TEST_CASE("bins that no date allows are refused") {
  const TimeZone utc;
  const bson::Date any = at("2000-01-01T02:00:00Z"), before = at("1980-01-01");
  CHECK(code_of([&] { truncated(utc, {INT64_MIN}, DateUnit::millisecond, 1); }) == 5439000);
  CHECK(code_of([&] { truncated(utc, {INT64_MIN / 4 * 3}, DateUnit::millisecond, INT64_MAX / 5 * 3); }) == 5439001);
  for (const DateUnit unit : {DateUnit::second, DateUnit::minute, DateUnit::hour}) {
    CHECK(code_of([&] { truncated(utc, any, unit, INT64_MAX / 64); }) == 5439002);
  }
  for (const DateUnit unit : {DateUnit::day, DateUnit::week, DateUnit::month, DateUnit::quarter, DateUnit::year}) {
    CHECK(code_of([&] { truncated(utc, any, unit, 100'000'000'001); }) == 5439006);
    CHECK(code_of([&] { truncated(utc, before, unit, 200'000'000); }) == 0);
    CHECK(truncated(utc, any, unit, 100'000'000'000, 6) == at("2000-01-01"));
  }
  CHECK(code_of([&] { truncated(utc, before, DateUnit::year, 1'000'000'000); }) == 5976500);
}
