#include <date/date.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <chrono>

#include "bson/arithmetic.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/core/text.h"
#include "server/query/expressions/date_arithmetic.h"
#include "server/query/expressions/date_format.h"
#include "server/query/expressions/date_text.h"
#include "server/query/expressions/date_units.h"
#include "server/query/expressions/operator_support.h"
#include "server/query/expressions/text.h"
#include "server/query/expressions/time_zone.h"

namespace server::query {
namespace {

using std::chrono::milliseconds;

struct Parts {
  int64_t year;
  int month, day, hour, minute, second, millisecond, day_of_week, day_of_year;
  int64_t iso_year;
  int iso_week, iso_day_of_week;
};

Parts parts_of(LocalTime time) {
  const int64_t day = day_number(time);
  const CalendarDay calendar = calendar_day(day);
  constexpr uint64_t ms_in_day = 24 * 3600 * 1000;
  // The first day of all begins before the first moment that 64 bits can hold, so this wraps.
  const auto in_day =
      static_cast<int>(static_cast<uint64_t>(time.time_since_epoch().count()) - static_cast<uint64_t>(day) * ms_in_day);
  const auto weekday = static_cast<int>(day + 4 - floor_div(day + 4, 7) * 7);  // Sunday: 0
  const int iso_day = weekday == 0 ? 7 : weekday;
  const int64_t thursday = day + 4 - iso_day;
  const int64_t iso_year = calendar_day(thursday).year;
  return {.year = calendar.year,
          .month = calendar.month,
          .day = calendar.day,
          .hour = in_day / 3'600'000,
          .minute = in_day / 60'000 % 60,
          .second = in_day / 1000 % 60,
          .millisecond = in_day % 1000,
          .day_of_week = weekday + 1,
          .day_of_year = static_cast<int>(day - days_until({calendar.year, 1, 1})) + 1,
          .iso_year = iso_year,
          .iso_week = static_cast<int>((thursday - days_until({iso_year, 1, 1})) / 7) + 1,
          .iso_day_of_week = iso_day};
}

bool is_date(const ValueView& value) {
  return value.type() == Type::date || value.type() == Type::timestamp || value.type() == Type::object_id;
}

bson::Date date_of(const ValueView& value) {
  switch (value.type()) {
    case Type::date: return value.as_date();
    case Type::timestamp: return {int64_t{value.as_timestamp().seconds} * 1000};
    case Type::object_id: {
      const auto& b = value.as_object_id().bytes;
      return {int64_t{(uint32_t{b[0]} << 24) | (uint32_t{b[1]} << 16) | (uint32_t{b[2]} << 8) | b[3]} * 1000};
    }
    default: fail(16006, "can't convert from BSON type " + named(value) + " to Date");
  }
}

// Dates and zones come as {date, timezone}, or as a bare date.
struct DateArgument {
  ExpressionPtr when;
  ExpressionPtr zone;

  static DateArgument parse(std::string_view name, const ValueView& value, Scope& scope) {
    DateArgument out;
    const bool named_form = value.is_object() && !value.as_document().first().name.starts_with('$');
    if (named_form) {
      for (const bson::Element& field : value.as_document()) {
        if (field.name == "date") {
          out.when = parse_expression(field, scope);
        } else if (field.name == "timezone") {
          out.zone = parse_expression(field, scope);
        } else {
          fail(40535, "unrecognized option to " + std::string(name) + ": \"" + std::string(field.name) + "\"");
        }
      }
      if (!out.when)
        fail(40539,
             "missing 'date' argument to " + std::string(name) + ", provided: " + show_element(bson::Element(name, value)));
      return out;
    }
    auto arguments = parse_arguments(value, scope);
    if (arguments.size() != 1) {
      fail(40536, std::string(name) + " accepts exactly one argument if given an array, but was given " +
                      std::to_string(arguments.size()));
    }
    out.when = std::move(arguments[0]);
    return out;
  }
};

TimeZone zone_named(const ValueView& name) {
  if (!name.is_string()) fail(40517, "timezone must evaluate to a string, found " + named(name));
  return TimeZone(name.as_string());
}

// Returns nullopt for null.
std::optional<TimeZone> zone_from(const ExpressionPtr& expression, Frame& frame) {
  if (!expression) return TimeZone();
  const Value name = expression->evaluate(frame);
  if (name.view().is_nullish()) return std::nullopt;
  return zone_named(name);
}

template <class Get>
ExpressionPtr part(std::string_view name, const ValueView& value, Scope& scope, Get get) {
  return evaluated([argument = DateArgument::parse(name, value, scope), get](Frame& frame) {
    const Value when = argument.when->evaluate(frame);
    if (when.view().is_nullish()) return Value::null();
    const bson::Date date = date_of(when);
    const auto zone = zone_from(argument.zone, frame);
    if (!zone) return Value::null();
    return Value(get(parts_of(zone->local(date))));
  });
}

template <auto member>
ExpressionPtr parse_part(std::string_view name, const ValueView& value, Scope& scope) {
  return part(name, value, scope, [](const Parts& parts) { return static_cast<int32_t>(parts.*member); });
}

// MongoDB returns this one as a long.
ExpressionPtr parse_iso_week_year(std::string_view name, const ValueView& value, Scope& scope) {
  return part(name, value, scope, [](const Parts& parts) { return parts.iso_year; });
}

// Weeks begin on Sundays; the days before the first Sunday are week 0.
ExpressionPtr parse_week(std::string_view name, const ValueView& value, Scope& scope) {
  return part(name, value, scope, [](const Parts& p) { return (p.day_of_year + 7 - p.day_of_week) / 7; });
}

ExpressionPtr parse_date_to_parts(std::string_view name, const ValueView& value, Scope& scope) {
  if (!value.is_object()) fail(40524, std::string(name) + " only supports an object as its argument");
  ExpressionPtr when, zone, iso;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "date") {
      when = parse_expression(field, scope);
    } else if (field.name == "timezone") {
      zone = parse_expression(field, scope);
    } else if (field.name == "iso8601") {
      iso = parse_expression(field, scope);
    } else {
      fail(40520, "Unrecognized argument to $dateToParts: " + std::string(field.name));
    }
  }
  if (!when) fail(40522, "Missing 'date' parameter to $dateToParts");
  return evaluated([when = std::move(when), zone = std::move(zone), iso = std::move(iso)](Frame& frame) {
    const Value value = when->evaluate(frame);
    const auto in = zone_from(zone, frame);
    if (!in) return Value::null();
    const Value as_iso = iso ? iso->evaluate(frame) : Value(false);
    if (as_iso.view().is_nullish()) return Value::null();
    if (as_iso.type() != Type::boolean) fail(40521, "iso8601 must evaluate to a bool, found " + named(as_iso));
    if (value.view().is_nullish()) return Value::null();
    const Parts p = parts_of(in->local(date_of(value)));
    bson::Builder out;
    if (as_iso.view().truthy()) {
      out.append("isoWeekYear", static_cast<int32_t>(p.iso_year))
          .append("isoWeek", p.iso_week)
          .append("isoDayOfWeek", p.iso_day_of_week);
    } else {
      out.append("year", static_cast<int32_t>(p.year)).append("month", p.month).append("day", p.day);
    }
    out.append("hour", p.hour).append("minute", p.minute).append("second", p.second).append("millisecond", p.millisecond);
    return Value(out.done());
  });
}

void append_year(std::string& out, int64_t year) {
  check_formatted_year(year);
  out += fmt::format("{:04}", year);
}

std::string formatted(std::string_view format, const Parts& p, std::chrono::seconds offset_s) {
  const int64_t offset = offset_s.count() / 60;
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    if (++i == format.size()) fail(18535, "Unmatched '%' at end of format string");
    switch (format[i]) {
      case 'Y': append_year(out, p.year); break;
      case 'm': out += fmt::format("{:02}", p.month); break;
      case 'd': out += fmt::format("{:02}", p.day); break;
      case 'H': out += fmt::format("{:02}", p.hour); break;
      case 'M': out += fmt::format("{:02}", p.minute); break;
      case 'S': out += fmt::format("{:02}", p.second); break;
      case 'L': out += fmt::format("{:03}", p.millisecond); break;
      case 'j': out += fmt::format("{:03}", p.day_of_year); break;
      case 'w': out += std::to_string(p.day_of_week); break;
      case 'u': out += std::to_string(p.iso_day_of_week); break;
      case 'U': out += fmt::format("{:02}", (p.day_of_year + 7 - p.day_of_week) / 7); break;
      case 'V': out += fmt::format("{:02}", p.iso_week); break;
      case 'G': append_year(out, p.iso_year); break;
      case 'z': {
        out += fmt::format("{}{:02}{:02}", offset < 0 ? '-' : '+', std::abs(offset) / 60, std::abs(offset) % 60);
        break;
      }
      case 'Z': out += std::to_string(offset); break;
      case 'b': out += month_names[p.month - 1].substr(0, 3); break;
      case 'B': out += month_names[p.month - 1]; break;
      case '%': out.push_back('%'); break;
      default: fail(18536, "Invalid format character '%" + std::string(character_at(format, i)) + "' in format string");
    }
  }
  return out;
}

// Returns the format, which is nullish or right; missing if there is none.
Value format_of(const std::string& op, int not_string_code, std::string_view letters, const ExpressionPtr& format, Frame& frame) {
  if (!format) return Value();
  Value given = format->evaluate(frame);
  if (given.view().is_nullish()) return given;
  if (given.type() != Type::string) {
    fail(not_string_code,
         op + " requires that 'format' be a string, found: " + named(given) + " with value " + value_text(given));
  }
  check_date_format(given.view().as_string(), letters);
  return given;
}

ExpressionPtr parse_date_to_string(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_object()) fail(18629, "$dateToString only supports an object as its argument");
  ExpressionPtr when, format, zone, on_null;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "date") {
      when = parse_expression(field, scope);
    } else if (field.name == "format") {
      format = parse_expression(field, scope);
    } else if (field.name == "timezone") {
      zone = parse_expression(field, scope);
    } else if (field.name == "onNull") {
      on_null = parse_expression(field, scope);
    } else {
      fail(18534, "Unrecognized argument to $dateToString: " + std::string(field.name));
    }
  }
  if (!when) fail(18628, "Missing 'date' parameter to $dateToString");
  return evaluated(
      [when = std::move(when), format = std::move(format), zone = std::move(zone), on_null = std::move(on_null)](Frame& frame) {
        // Format and zone must be right even if there is no date.
        const Value value = when->evaluate(frame);
        const Value given = format_of("$dateToString", 18533, written_format_letters, format, frame);
        const auto in = zone_from(zone, frame);
        if (value.view().is_nullish()) return on_null ? on_null->evaluate(frame) : Value::null();
        if (!in || (format && given.view().is_nullish())) return Value::null();
        const std::string_view pattern = format         ? given.view().as_string()
                                         : in->is_utc() ? "%Y-%m-%dT%H:%M:%S.%LZ"
                                                        : "%Y-%m-%dT%H:%M:%S.%L";
        const bson::Date date = date_of(value);
        return Value(formatted(pattern, parts_of(in->local(date)), in->offset(date)));
      });
}

ExpressionPtr parse_date_from_string(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_object()) fail(40540, "$dateFromString only supports an object as an argument, found: " + named(value));
  ExpressionPtr text, zone, on_error, on_null, format;
  for (const bson::Element& field : value.as_document()) {
    if (field.name == "dateString") {
      text = parse_expression(field, scope);
    } else if (field.name == "timezone") {
      zone = parse_expression(field, scope);
    } else if (field.name == "onError") {
      on_error = parse_expression(field, scope);
    } else if (field.name == "onNull") {
      on_null = parse_expression(field, scope);
    } else if (field.name == "format") {
      format = parse_expression(field, scope);
    } else {
      fail(40541, "Unrecognized argument to $dateFromString: " + std::string(field.name));
    }
  }
  if (!text) fail(40542, "Missing 'dateString' parameter to $dateFromString");
  return evaluated([text = std::move(text), zone = std::move(zone), on_error = std::move(on_error), on_null = std::move(on_null),
                    format = std::move(format)](Frame& frame) {
    const Value given = text->evaluate(frame);
    const Value by = format_of("$dateFromString", 40684, read_format_letters, format, frame);
    const auto in = zone_from(zone, frame);
    if (given.view().is_nullish()) return on_null ? on_null->evaluate(frame) : Value::null();
    const auto failed = [&](const std::string& why) {
      if (!on_error) fail(static_cast<int>(base::ErrorCode::conversion_failure), why);
      return on_error->evaluate(frame);
    };
    if (given.type() != Type::string)
      return failed("$dateFromString requires that 'dateString' be a string, found: " + named(given) + " with value " +
                    value_text(given));
    if (!in || (format && by.view().is_nullish())) return Value::null();
    const std::string_view date = given.view().as_string();
    std::optional<LocalTime> read;
    bool has_offset = false;
    if (format) {
      if (const auto formatted = read_date(date, by.view().as_string()))
        read = formatted->local, has_offset = formatted->has_offset;
    } else if (const auto parsed = bson::date_from_string(date, &has_offset)) {
      read = LocalTime(milliseconds(parsed->ms));
    } else if (const auto written = read_date_text(date)) {
      read = written->local, has_offset = written->has_offset;
    }
    if (!read) return failed("Error parsing date string '" + std::string(date) + "'");
    if (zone && has_offset)
      return failed("you cannot pass in a date/time string with GMT offset together with a timezone argument");
    return Value(in->utc(*read));
  });
}

ExpressionPtr parse_date_from_parts(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_object()) fail(40519, "$dateFromParts only supports an object as its argument");
  Parameter p[] = {{"year"},        {"month"},    {"day"},         {"hour"},    {"minute"},      {"second"},
                   {"millisecond"}, {"timezone"}, {"isoWeekYear"}, {"isoWeek"}, {"isoDayOfWeek"}};
  parse_parameters("$dateFromParts", value, scope, p, 40519, {40518, "Unrecognized argument to $dateFromParts: {}"},
                   {40516, ""});  // none is required by itself
  const bool iso = p[8].expression != nullptr;
  if (!p[0].expression && !iso) fail(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
  if (p[0].expression && (iso || p[9].expression || p[10].expression))
    fail(40489, "$dateFromParts does not allow mixing natural dates with ISO dates");
  if (iso && (p[1].expression || p[2].expression))
    fail(40525, "$dateFromParts does not allow mixing ISO dates with natural dates");
  if (iso) {
    for (const size_t i : {0, 1, 2}) std::swap(p[i], p[i + 8]);
  }
  std::array<ExpressionPtr, 8> parts;
  std::array<std::string_view, 7> names;
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = std::move(p[i].expression);
  for (size_t i = 0; i < names.size(); ++i) names[i] = p[i].name;
  return evaluated([parts = std::move(parts), names, iso](Frame& frame) {
    constexpr size_t bounded = 5;  // the parts from year to minute
    int64_t numbers[] = {1970, 1, 1, 0, 0, 0, 0};
    for (size_t i = 0; i < 7; ++i) {
      if (!parts[i]) continue;
      const Value given = parts[i]->evaluate(frame);
      if (given.view().is_nullish()) return Value::null();
      const auto whole = bson::number::exact_int64(given);
      if (!whole) {
        fail(40515, "'" + std::string(names[i]) + "' must evaluate to an integer, found " + named(given) + " with value " +
                        value_text(given));
      }
      if (i > 0 && i < bounded && (*whole < INT16_MIN || *whole > INT16_MAX)) {
        fail(31034, "'" + std::string(names[i]) + "' must evaluate to a value in the range [-32768, 32767]; value " +
                        std::to_string(*whole) + " is not in range");
      }
      numbers[i] = *whole;
    }
    if (numbers[0] < 1 || numbers[0] > 9999) {
      fail(iso ? 31095 : 40523, "'" + std::string(names[0]) + "' must evaluate to an integer in the range 1 to 9999, found " +
                                    std::to_string(numbers[0]));
    }
    const auto zone = zone_from(parts[7], frame);
    if (!zone) return Value::null();
    const date::local_days day = (iso ? day_of_iso_parts : day_of_parts)(numbers[0], numbers[1], numbers[2]);
    const LocalTime minute =
        LocalTime(day.time_since_epoch()) + std::chrono::hours(numbers[3]) + std::chrono::minutes(numbers[4]);
    int64_t seconds_ms = 0, local_ms = minute.time_since_epoch().count();
    // Any number of seconds and of milliseconds is taken, as far as the date has room for them.
    if (__builtin_mul_overflow(numbers[5], 1000, &seconds_ms) || __builtin_add_overflow(local_ms, seconds_ms, &local_ms) ||
        __builtin_add_overflow(local_ms, numbers[6], &local_ms)) {
      fail(static_cast<int>(base::ErrorCode::overflow), "$dateFromParts gives a date that is out of range");
    }
    return Value(zone->utc(LocalTime(milliseconds(local_ms))));
  });
}

// $dateAdd, $dateDiff and $dateTrunc return null if any argument is null, even if others are wrong.
class DateArguments {
 public:
  DateArguments(std::span<const ExpressionPtr* const> required, const ExpressionPtr& zone, Frame& frame) {
    for (const ExpressionPtr* expression : required) values_.push_back((*expression)->evaluate(frame));
    if (zone) zone_ = zone->evaluate(frame);
    has_zone_ = zone != nullptr;
  }

  bool has_null() const {
    for (const Value& value : values_) {
      if (value.view().is_nullish()) return true;
    }
    return has_zone_ && zone_.view().is_nullish();
  }

  const Value& operator[](size_t i) const { return values_[i]; }
  TimeZone zone() const { return has_zone_ ? zone_named(zone_) : TimeZone(); }

 private:
  std::vector<Value> values_;
  Value zone_;
  bool has_zone_ = false;
};

DateUnit unit_of(const std::string& op, const ValueView& value) {
  if (!value.is_string()) fail(5439013, op + " requires 'unit' to be a string, but got " + named(value));
  if (!is_date_unit(value.as_string()))
    fail(5439014, op + " parameter 'unit' value cannot be recognized as a time unit: " + std::string(value.as_string()));
  return date_unit(value.as_string());
}

bool is_week(const ValueView& unit) {
  return unit.is_string() && unit.as_string() == "week";
}

// Returns 0 for Sunday.
int day_of_week(const std::string& op, const ValueView& given) {
  if (!given.is_string()) fail(5439015, op + " requires 'startOfWeek' to be a string, but got " + named(given));
  std::string day(given.as_string());
  for (char& c : day) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view days[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
  for (int i = 0; i < 7; ++i) {
    if (day == days[i] || day == days[i].substr(0, 3)) return i;
  }
  fail(5439016, op + " parameter 'startOfWeek' value cannot be recognized as a day of a week: " + std::string(given.as_string()));
}

template <int sign>
ExpressionPtr parse_date_add(std::string_view name, const ValueView& value, Scope& scope) {
  Parameter p[] = {{"startDate", true}, {"unit", true}, {"amount", true}, {"timezone"}};
  const std::string op(name);
  parse_parameters(name, value, scope, p, 5166400,
                   {5166401, "Unrecognized argument to " + op +
                                 ": {}. Expected arguments are startDate, unit, amount, and optionally timezone."},
                   {5166402, op + " requires startDate, unit, and amount to be present"});
  return evaluated([op, start = std::move(p[0].expression), unit = std::move(p[1].expression),
                    amount = std::move(p[2].expression), zone = std::move(p[3].expression)](Frame& frame) {
    const DateArguments given(std::array{&start, &unit, &amount}, zone, frame);
    if (given.has_null()) return Value::null();
    if (!is_date(given[0])) fail(5166403, op + " requires startDate to be convertible to a date");
    if (!given[1].view().is_string()) fail(5166404, op + " expects string defining the time unit");
    const DateUnit in = date_unit(given[1].view().as_string());
    const auto whole = bson::number::exact_int64(given[2]);
    if (!whole) fail(5166405, op + " expects integer amount of time units");
    if (sign < 0 && *whole == INT64_MIN) fail(6045000, "invalid " + op + " 'amount' parameter value: " + std::to_string(*whole));
    return Value(moved(given.zone(), date_of(given[0]), in, sign * *whole));
  });
}

ExpressionPtr parse_date_diff(std::string_view name, const ValueView& value, Scope& scope) {
  Parameter p[] = {
      {"startDate", true}, {"endDate", true, nullptr, 5166304}, {"unit", true, nullptr, 5166305}, {"timezone"}, {"startOfWeek"}};
  parse_parameters(name, value, scope, p, 5166301, {5166302, "Unrecognized argument to $dateDiff: {}"},
                   {5166303, "Missing '{}' parameter to $dateDiff"});
  return evaluated([op = std::string(name), from = std::move(p[0].expression), to = std::move(p[1].expression),
                    unit = std::move(p[2].expression), zone = std::move(p[3].expression),
                    week = std::move(p[4].expression)](Frame& frame) {
    const DateArguments given(std::array{&from, &to, &unit}, zone, frame);
    const bool by_week = week && is_week(given[2]);
    const Value first = by_week ? week->evaluate(frame) : Value("sunday");
    if (given.has_null() || first.view().is_nullish()) return Value::null();
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (!is_date(given[i]))
        fail(5166307, op + " requires '" + (i == 0 ? "startDate" : "endDate") + "' to be a date, but got " + named(given[i]));
    }
    const DateUnit in = unit_of(op, given[2]);
    return Value(difference(given.zone(), date_of(given[0]), date_of(given[1]), in, day_of_week(op, first)));
  });
}

ExpressionPtr parse_date_trunc(std::string_view name, const ValueView& value, Scope& scope) {
  Parameter p[] = {{"date", true}, {"unit", true, nullptr, 5439010}, {"binSize"}, {"timezone"}, {"startOfWeek"}};
  parse_parameters(name, value, scope, p, 5439007, {5439008, "Unrecognized argument to $dateTrunc: {}"},
                   {5439009, "Missing '{}' parameter to $dateTrunc"});
  return evaluated([op = std::string(name), when = std::move(p[0].expression), unit = std::move(p[1].expression),
                    bin = std::move(p[2].expression), zone = std::move(p[3].expression),
                    week = std::move(p[4].expression)](Frame& frame) {
    const DateArguments given(std::array{&when, &unit}, zone, frame);
    const Value size = bin ? bin->evaluate(frame) : Value(int32_t{1});
    const bool by_week = week && is_week(given[1]);
    const Value first = by_week ? week->evaluate(frame) : Value("sunday");
    if (given.has_null() || size.view().is_nullish() || first.view().is_nullish()) return Value::null();
    if (!is_date(given[0])) fail(5439012, op + " requires 'date' to be a date, but got " + named(given[0]));
    const DateUnit in = unit_of(op, given[1]);
    const auto bins = bson::number::exact_int64(size);
    if (!bins)
      fail(5439017,
           op + " requires 'binSize' to be a 64-bit integer, but got value '" + value_text(size) + "' of type " + named(size));
    if (*bins <= 0) fail(5439018, op + " requires 'binSize' to be greater than 0, but got value " + std::to_string(*bins));
    return Value(truncated(given.zone(), date_of(given[0]), in, *bins, day_of_week(op, first)));
  });
}

template <uint32_t bson::Timestamp::*part, int code>
Value timestamp_part(std::string_view name, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (a[0].type() != Type::timestamp)
    fail(code, " Argument to " + std::string(name) + " must be a timestamp, but is " + named(a[0]));
  return Value(static_cast<int64_t>(a[0].as_timestamp().*part));
}

constexpr OperatorEntry entries[] = {
    {"$tsSecond", function_of<timestamp_part<&bson::Timestamp::seconds, 5687301>, 1>},
    {"$tsIncrement", function_of<timestamp_part<&bson::Timestamp::increment, 5687302>, 1>},
    {"$year", parse_part<&Parts::year>},
    {"$month", parse_part<&Parts::month>},
    {"$dayOfMonth", parse_part<&Parts::day>},
    {"$hour", parse_part<&Parts::hour>},
    {"$minute", parse_part<&Parts::minute>},
    {"$second", parse_part<&Parts::second>},
    {"$millisecond", parse_part<&Parts::millisecond>},
    {"$dayOfWeek", parse_part<&Parts::day_of_week>},
    {"$dayOfYear", parse_part<&Parts::day_of_year>},
    {"$isoWeekYear", parse_iso_week_year},
    {"$isoWeek", parse_part<&Parts::iso_week>},
    {"$isoDayOfWeek", parse_part<&Parts::iso_day_of_week>},
    {"$week", parse_week},
    {"$dateToParts", parse_date_to_parts},
    {"$dateToString", parse_date_to_string},
    {"$dateFromString", parse_date_from_string},
    {"$dateFromParts", parse_date_from_parts},
    {"$dateAdd", parse_date_add<1>},
    {"$dateSubtract", parse_date_add<-1>},
    {"$dateDiff", parse_date_diff},
    {"$dateTrunc", parse_date_trunc},
};

}  // namespace

std::span<const OperatorEntry> date_operators() {
  return entries;
}

}  // namespace server::query
