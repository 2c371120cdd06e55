#include "server/query/expressions/text.h"

#include <date/date.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "bson/numeric.h"

namespace server::query {
namespace {

bool begins_point(char c) {
  return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
}

}  // namespace

size_t code_points(std::string_view text) {
  size_t points = 0;
  for (const char c : text) points += begins_point(c);
  return points;
}

size_t byte_of_point(std::string_view text, size_t n) {
  size_t points = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (begins_point(text[i]) && points++ == n) return i;
  }
  return text.size();
}

std::string_view first_point(std::string_view text) {
  size_t end = 1;
  while (end < text.size() && !begins_point(text[end])) ++end;
  return text.substr(0, end);
}

std::string_view last_point(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && !begins_point(text[begin])) --begin;
  return text.substr(begin);
}

const std::vector<std::string>& whitespace_points() {
  static const std::vector<std::string> points = {std::string(1, '\0'),
                                                  " ",
                                                  "\t",
                                                  "\n",
                                                  "\v",
                                                  "\f",
                                                  "\r",
                                                  "\u00a0",
                                                  "\u1680",
                                                  "\u2000",
                                                  "\u2001",
                                                  "\u2002",
                                                  "\u2003",
                                                  "\u2004",
                                                  "\u2005",
                                                  "\u2006",
                                                  "\u2007",
                                                  "\u2008",
                                                  "\u2009",
                                                  "\u200a"};
  return points;
}

std::string number_text(const bson::ValueView& number) {
  switch (number.type()) {
    case bson::Type::int32:
    case bson::Type::int64: return std::to_string(number.to_int64());
    case bson::Type::decimal128: return bson::decimal_to_string(number.as_decimal128());
    default: {
      const double value = number.as_double();
      if (std::isnan(value)) return "NaN";
      if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
      if (value == 0) return std::signbit(value) ? "-0" : "0";
      return fmt::format(
          "{}", value == std::trunc(value) && std::fabs(value) < 1e15 ? static_cast<double>(static_cast<int64_t>(value)) : value);
    }
  }
}

void check_formatted_year(int64_t year) {
  if (year >= 0 && year <= 9999) return;
  throw base::OperationError(
      18537,
      "Could not convert date to string: date component was outside the supported range of 0-9999: " + std::to_string(year));
}

std::string iso_date(bson::Date value) {
  using namespace std::chrono;
  // The library's years have 16 bits; far beyond the limits, a mean year is exact enough.
  constexpr int64_t mean_year_ms = 31'556'952'000;
  const int64_t near_year = 1970 + value.ms / mean_year_ms;
  if (near_year < -1 || near_year > 10'001) check_formatted_year(near_year);
  const date::sys_time<milliseconds> time{milliseconds(value.ms)};
  const auto day = date::floor<date::days>(time);
  const date::year_month_day ymd(day);
  check_formatted_year(static_cast<int>(ymd.year()));
  const date::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(ymd.year()),
                     static_cast<unsigned>(ymd.month()), static_cast<unsigned>(ymd.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
}

std::string coerce_to_string(const bson::ValueView& value) {
  using bson::Type;
  switch (value.type()) {
    case Type::eod:
    case Type::null:
    case Type::undefined: return "";
    case Type::string:
    case Type::code:
    case Type::symbol: return std::string(value.as_string());
    case Type::date: return iso_date(value.as_date());
    default: break;
  }
  if (value.is_number()) return number_text(value);
  throw base::OperationError(16007, "can't convert from BSON type " + std::string(bson::type_name(value.type())) + " to String");
}

}  // namespace server::query
