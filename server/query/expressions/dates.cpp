#include <date/date.h>
#include <date/tz.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <chrono>

#include "bson/arithmetic.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/query/expressions/date_format.h"
#include "server/query/expressions/date_units.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {
namespace {

using std::chrono::milliseconds;
using SysTime = date::sys_time<milliseconds>;

// "", "UTC", "+05:30", "-0800", "Europe/Berlin".
class Zone {
 public:
  explicit Zone(std::string_view name) {
    if (name.empty() || name == "UTC" || name == "GMT" || name == "Z") return;
    if (name[0] == '+' || name[0] == '-') {
      const auto digit = [&](size_t i) { return i < name.size() && std::isdigit(static_cast<unsigned char>(name[i])); };
      const size_t colon = name.size() == 6 && name[3] == ':' ? 1 : 0;
      const bool minutes = name.size() == 5 + colon && name.size() > 3;
      if (digit(1) && digit(2) && (name.size() == 3 || (minutes && digit(3 + colon) && digit(4 + colon)))) {
        int offset = ((name[1] - '0') * 10 + (name[2] - '0')) * 60;
        if (minutes) offset += (name[3 + colon] - '0') * 10 + (name[4 + colon] - '0');
        offset_ = std::chrono::minutes(name[0] == '-' ? -offset : offset);
        return;
      }
    } else {
      try {
        zone_ = date::locate_zone(std::string(name));
        return;
      } catch (const std::runtime_error&) {
        // Refused below, as an unknown name.
      }
    }
    fail(40485, "unrecognized time zone identifier: \"" + std::string(name) + "\"");
  }

  LocalTime local(bson::Date when) const {
    const SysTime time{milliseconds(when.ms)};
    if (zone_) return date::floor<milliseconds>(zone_->to_local(time));
    return LocalTime(time.time_since_epoch() + offset_);
  }
  bson::Date utc(LocalTime local) const {
    if (zone_) return {date::floor<milliseconds>(zone_->to_sys(local, date::choose::earliest)).time_since_epoch().count()};
    return {(local.time_since_epoch() - offset_).count()};
  }
  std::chrono::minutes offset(bson::Date when) const {
    return std::chrono::duration_cast<std::chrono::minutes>(local(when).time_since_epoch() - milliseconds(when.ms));
  }

 private:
  const date::time_zone* zone_ = nullptr;
  std::chrono::minutes offset_{0};
};

struct Parts {
  int year, month, day, hour, minute, second, millisecond, day_of_week, day_of_year, iso_year, iso_week, iso_day_of_week;
};

Parts parts_of(LocalTime time) {
  const auto day = date::floor<date::days>(time);
  const date::year_month_day ymd(day);
  const date::hh_mm_ss clock(time - day);
  const date::local_days new_year = date::local_days(ymd.year() / 1 / 1);
  const unsigned weekday = date::weekday(day).c_encoding();  // Sunday: 0
  const unsigned iso_day = weekday == 0 ? 7 : weekday;
  const date::local_days thursday = day + date::days(4 - static_cast<int>(iso_day));
  const date::year iso_year = date::year_month_day(thursday).year();
  return {static_cast<int>(ymd.year()),
          static_cast<int>(static_cast<unsigned>(ymd.month())),
          static_cast<int>(static_cast<unsigned>(ymd.day())),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(clock.subseconds().count()),
          static_cast<int>(weekday) + 1,
          static_cast<int>((day - new_year).count()) + 1,
          static_cast<int>(iso_year),
          static_cast<int>((thursday - date::local_days(iso_year / 1 / 1)).count() / 7) + 1,
          static_cast<int>(iso_day)};
}

bool is_date(const ValueView& value) { return value.type() == Type::date || value.type() == Type::timestamp || value.type() == Type::object_id; }

bson::Date date_of(const ValueView& value) {
  switch (value.type()) {
    case Type::date:
      return value.as_date();
    case Type::timestamp:
      return {int64_t{value.as_timestamp().seconds} * 1000};
    case Type::object_id: {
      const auto& b = value.as_object_id().bytes;
      return {int64_t{(uint32_t{b[0]} << 24) | (uint32_t{b[1]} << 16) | (uint32_t{b[2]} << 8) | b[3]} * 1000};
    }
    default:
      fail(16006, "can't convert from BSON type " + named(value) + " to Date");
  }
}

// Dates and zones come as {date, timezone} or bare.
struct DateArgument {
  ExpressionPtr when;
  ExpressionPtr zone;

  static DateArgument parse(std::string_view name, const ValueView& value, Scope& scope) {
    DateArgument out;
    const bool named_form = value.is_object() && value.as_document().first().exists() &&
                            value.as_document().first().name.substr(0, 1) != "$";
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
      if (!out.when) fail(40539, "missing 'date' argument to " + std::string(name) + ", provided: " + named(value));
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

// nullopt: null.
std::optional<Zone> zone_from(const ExpressionPtr& expression, Frame& frame) {
  if (!expression) return Zone("UTC");
  const Value name = expression->evaluate(frame);
  if (name.view().is_nullish()) return std::nullopt;
  if (name.type() != Type::string) fail(40517, "timezone must evaluate to a string, found " + named(name));
  return Zone(name.view().as_string());
}

template <class Get>
ExpressionPtr part(std::string_view name, const ValueView& value, Scope& scope, Get get) {
  return evaluated([argument = DateArgument::parse(name, value, scope), get](Frame& frame) {
    const Value when = argument.when->evaluate(frame);
    if (when.view().is_nullish()) return Value::null();
    const auto zone = zone_from(argument.zone, frame);
    if (!zone) return Value::null();
    return Value(static_cast<int32_t>(get(parts_of(zone->local(date_of(when))))));
  });
}

template <int Parts::* member>
ExpressionPtr parse_part(std::string_view name, const ValueView& value, Scope& scope) {
  return part(name, value, scope, [](const Parts& parts) { return parts.*member; });
}

// Weeks that begin on Sundays; the days before the first one are week 0.
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
    if (value.view().is_nullish() || !in) return Value::null();
    const Value as_iso = iso ? iso->evaluate(frame) : Value(false);
    if (as_iso.view().is_nullish()) return Value::null();
    if (as_iso.type() != Type::boolean) fail(40521, "iso8601 must evaluate to a bool, found " + named(as_iso));
    const Parts p = parts_of(in->local(date_of(value)));
    bson::Builder out;
    if (as_iso.view().truthy()) {
      out.append("isoWeekYear", p.iso_year).append("isoWeek", p.iso_week).append("isoDayOfWeek", p.iso_day_of_week);
    } else {
      out.append("year", p.year).append("month", p.month).append("day", p.day);
    }
    out.append("hour", p.hour).append("minute", p.minute).append("second", p.second).append("millisecond", p.millisecond);
    return Value(out.done());
  });
}

std::string formatted(std::string_view format, const Parts& p, std::chrono::minutes offset) {
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      out.push_back(format[i]);
      continue;
    }
    if (++i == format.size()) fail(18535, "Unmatched '%' at end of format string");
    switch (format[i]) {
      case 'Y': out += fmt::format("{:04}", p.year); break;
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
      case 'G': out += fmt::format("{:04}", p.iso_year); break;
      case 'z': {
        const int64_t minutes = offset.count();
        out += fmt::format("{}{:02}{:02}", minutes < 0 ? '-' : '+', std::abs(minutes) / 60, std::abs(minutes) % 60);
        break;
      }
      case 'Z': out += std::to_string(offset.count()); break;
      case 'b': out += month_names[p.month - 1].substr(0, 3); break;
      case 'B': out += month_names[p.month - 1]; break;
      case '%': out.push_back('%'); break;
      default: fail(18536, std::string("Invalid format character '%") + format[i] + "' in format string");
    }
  }
  return out;
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
  return evaluated([when = std::move(when), format = std::move(format), zone = std::move(zone), on_null = std::move(on_null)](Frame& frame) {
    const Value value = when->evaluate(frame);
    if (value.view().is_nullish()) return on_null ? on_null->evaluate(frame) : Value::null();
    std::string pattern = zone ? "%Y-%m-%dT%H:%M:%S.%L" : "%Y-%m-%dT%H:%M:%S.%LZ";
    if (format) {
      const Value given = format->evaluate(frame);
      if (given.view().is_nullish()) return Value::null();
      if (given.type() != Type::string) fail(18533, "$dateToString requires that 'format' be a string, found: " + named(given));
      pattern = given.view().as_string();
    }
    const auto in = zone_from(zone, frame);
    if (!in) return Value::null();
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
  return evaluated([text = std::move(text), zone = std::move(zone), on_error = std::move(on_error), on_null = std::move(on_null), format = std::move(format)](Frame& frame) {
    const Value given = text->evaluate(frame);
    const auto in = zone_from(zone, frame);
    const Value by = format ? format->evaluate(frame) : Value();
    if (format && !by.view().is_nullish() && by.type() != Type::string) fail(40684, "$dateFromString requires that 'format' be a string, found: " + named(by));
    if (given.view().is_nullish()) return on_null ? on_null->evaluate(frame) : Value::null();
    if (!in || (format && by.view().is_nullish())) return Value::null();
    const auto failed = [&](const std::string& why) {
      if (!on_error) fail(static_cast<int>(base::ErrorCode::conversion_failure), why);
      return on_error->evaluate(frame);
    };
    if (given.type() != Type::string) return failed("$dateFromString requires that 'dateString' be a string, found: " + named(given));
    const std::string_view date = given.view().as_string();
    std::optional<LocalTime> read;
    bool has_offset = false;
    if (format) {
      if (const auto formatted = read_date(date, by.view().as_string())) read = formatted->local, has_offset = formatted->has_offset;
    } else if (const auto parsed = bson::date_from_string(date, &has_offset)) {
      read = LocalTime(milliseconds(parsed->ms));
    }
    if (!read) return failed("Error parsing date string '" + std::string(date) + "'");
    if (zone && has_offset) return failed("you cannot pass in a date/time string with GMT offset together with a timezone argument");
    return Value(in->utc(*read));
  });
}

ExpressionPtr parse_date_from_parts(std::string_view, const ValueView& value, Scope& scope) {
  if (!value.is_object()) fail(40519, "$dateFromParts only supports an object as its argument");
  Parameter p[] = {{"year"}, {"month"}, {"day"}, {"hour"}, {"minute"}, {"second"}, {"millisecond"}, {"timezone"}, {"isoWeekYear"}, {"isoWeek"}, {"isoDayOfWeek"}};
  parse_parameters("$dateFromParts", value, scope, p, 40519, 40518, 40516);
  const bool iso = p[8].expression != nullptr;
  if (!p[0].expression && !iso) fail(40516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present");
  if (p[0].expression && (iso || p[9].expression || p[10].expression)) fail(40489, "$dateFromParts does not allow mixing natural dates with ISO dates");
  if (iso && (p[1].expression || p[2].expression)) fail(40525, "$dateFromParts does not allow mixing ISO dates with natural dates");
  if (iso) {
    for (const size_t i : {0, 1, 2}) std::swap(p[i], p[i + 8]);
  }
  std::array<ExpressionPtr, 8> parts;
  std::array<std::string_view, 7> names;
  for (size_t i = 0; i < parts.size(); ++i) parts[i] = std::move(p[i].expression);
  for (size_t i = 0; i < names.size(); ++i) names[i] = p[i].name;
  return evaluated([parts = std::move(parts), names, iso](Frame& frame) {
    constexpr size_t bounded = 5;  // year to minute
    int64_t numbers[] = {1970, 1, 1, 0, 0, 0, 0};
    for (size_t i = 0; i < 7; ++i) {
      if (!parts[i]) continue;
      const Value given = parts[i]->evaluate(frame);
      if (given.view().is_nullish()) return Value::null();
      const auto whole = whole_number(given);
      if (!whole) fail(40515, "'" + std::string(names[i]) + "' must evaluate to an integer, found " + named(given));
      if (i > 0 && i < bounded && (*whole < INT16_MIN || *whole > INT16_MAX)) {
        fail(31034, "'" + std::string(names[i]) + "' must evaluate to a value in the range [-32768, 32767]; value " + std::to_string(*whole) + " is not in range");
      }
      numbers[i] = *whole;
    }
    if (numbers[0] < 1 || numbers[0] > 9999) {
      fail(iso ? 31095 : 40523, "'" + std::string(names[0]) + "' must evaluate to an integer in the range 1 to 9999, found " + std::to_string(numbers[0]));
    }
    const auto zone = zone_from(parts[7], frame);
    if (!zone) return Value::null();
    const date::local_days day = (iso ? day_of_iso_parts : day_of_parts)(numbers[0], numbers[1], numbers[2]);
    const LocalTime local = LocalTime(day.time_since_epoch()) + std::chrono::hours(numbers[3]) +
                            std::chrono::minutes(numbers[4]) + std::chrono::seconds(numbers[5]) + milliseconds(numbers[6]);
    return Value(zone->utc(local));
  });
}

DateUnit unit_of(std::string_view op, const ValueView& value) {
  if (!value.is_string()) fail(5439013, std::string(op) + " requires 'unit' to be a string, but got " + named(value));
  return date_unit(value.as_string());
}

// Sunday: 0. Weeks alone ask for it. nullopt: null.
std::optional<int> start_of_week(const std::string& op, const ExpressionPtr& expression, const ValueView& unit, Frame& frame) {
  if (!expression || !unit.is_string() || unit.as_string() != "week") return 0;
  const Value given = expression->evaluate(frame);
  if (given.view().is_nullish()) return std::nullopt;
  if (given.type() != Type::string) fail(5439015, op + " requires 'startOfWeek' to be a string, but got " + named(given));
  std::string day(given.view().as_string());
  for (char& c : day) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::string_view days[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
  for (int i = 0; i < 7; ++i) {
    if (day == days[i] || day == days[i].substr(0, 3)) return i;
  }
  fail(5439016, op + " parameter 'startOfWeek' value cannot be recognized as a day of a week: " + std::string(given.view().as_string()));
}

template <int sign>
ExpressionPtr parse_date_add(std::string_view name, const ValueView& value, Scope& scope) {
  Parameter p[] = {{"startDate", true}, {"unit", true}, {"amount", true}, {"timezone"}};
  parse_parameters(name, value, scope, p, 5166400, 5166401, 5166402);
  return evaluated([op = std::string(name), when = std::move(p[0].expression), unit = std::move(p[1].expression),
                    amount = std::move(p[2].expression), zone = std::move(p[3].expression)](Frame& frame) {
    const Value start = when->evaluate(frame), in_unit = unit->evaluate(frame), by = amount->evaluate(frame);
    const auto in = zone_from(zone, frame);
    if (start.view().is_nullish() || in_unit.view().is_nullish() || by.view().is_nullish() || !in) return Value::null();
    if (!is_date(start)) fail(5166403, op + " requires startDate to be convertible to a date");
    const auto whole = bson::number::exact_int64(by);
    if (!whole) fail(5166405, op + " expects integer amount of time units");
    return Value(in->utc(shifted(in->local(date_of(start)), unit_of(op, in_unit), sign * *whole)));
  });
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

ExpressionPtr parse_date_diff(std::string_view name, const ValueView& value, Scope& scope) {
  Parameter p[] = {{"startDate", true}, {"endDate", true, nullptr, 5166304}, {"unit", true, nullptr, 5166305}, {"timezone"}, {"startOfWeek"}};
  parse_parameters(name, value, scope, p, 5166301, 5166302, 5166303);
  return evaluated([op = std::string(name), from = std::move(p[0].expression), to = std::move(p[1].expression),
                    unit = std::move(p[2].expression), zone = std::move(p[3].expression), week = std::move(p[4].expression)](Frame& frame) {
    const Value start = from->evaluate(frame), end = to->evaluate(frame), in_unit = unit->evaluate(frame);
    const auto in = zone_from(zone, frame);
    if (start.view().is_nullish() || end.view().is_nullish() || in_unit.view().is_nullish() || !in) return Value::null();
    const auto first_day = start_of_week(op, week, in_unit, frame);
    if (!first_day) return Value::null();
    for (const auto& [what, date] : {std::pair("startDate", &start), {"endDate", &end}}) {
      if (!is_date(*date)) fail(5166307, op + " requires '" + what + "' to be a date, but got " + named(*date));
    }
    const LocalTime a = in->local(date_of(start)), b = in->local(date_of(end));
    const DateUnit u = unit_of(op, in_unit);
    if (const int64_t months = months_per(u)) {
      const Parts x = parts_of(a), y = parts_of(b);
      return Value(floor_div(int64_t{y.year} * 12 + y.month - 1, months) - floor_div(int64_t{x.year} * 12 + x.month - 1, months));
    }
    // Boundaries crossed, not time passed (1970 began on a Thursday).
    const int64_t length = fixed_length(u).count();
    const int64_t shift = u == DateUnit::week ? milliseconds(std::chrono::hours((4 - *first_day + 7) * 24)).count() : 0;
    return Value(floor_div(b.time_since_epoch().count() + shift, length) - floor_div(a.time_since_epoch().count() + shift, length));
  });
}

ExpressionPtr parse_date_trunc(std::string_view name, const ValueView& value, Scope& scope) {
  Parameter p[] = {{"date", true}, {"unit", true, nullptr, 5439010}, {"binSize"}, {"timezone"}, {"startOfWeek"}};
  parse_parameters(name, value, scope, p, 5439007, 5439008, 5439009);
  return evaluated([op = std::string(name), when = std::move(p[0].expression), unit = std::move(p[1].expression),
                    bin = std::move(p[2].expression), zone = std::move(p[3].expression), week = std::move(p[4].expression)](Frame& frame) {
    const Value date = when->evaluate(frame), in_unit = unit->evaluate(frame);
    const auto in = zone_from(zone, frame);
    int64_t bins = 1;
    if (bin) {
      const Value given = bin->evaluate(frame);
      if (given.view().is_nullish()) return Value::null();
      const auto whole = whole_number(given);
      if (!whole || *whole <= 0) fail(5439017, op + " requires 'binSize' to be a 64-bit integer greater than 0");
      bins = *whole;
    }
    if (date.view().is_nullish() || in_unit.view().is_nullish() || !in) return Value::null();
    const auto first_day = start_of_week(op, week, in_unit, frame);
    if (!first_day) return Value::null();
    if (!is_date(date)) fail(5439012, op + " requires 'date' to be a date, but got " + named(date));
    const LocalTime time = in->local(date_of(date));
    const DateUnit u = unit_of(op, in_unit);
    // Bins are counted from 2000-01-01.
    const LocalTime origin(date::local_days(date::year(2000) / 1 / 1).time_since_epoch());
    if (const int64_t months = months_per(u)) {
      const Parts parts = parts_of(time);
      const int64_t since = (int64_t{parts.year} - 2000) * 12 + parts.month - 1;
      return Value(in->utc(shifted(origin, DateUnit::month, floor_div(since, months * bins) * months * bins)));
    }
    const int64_t length = fixed_length(u).count() * bins;
    // 2000 began on a Saturday: the first week that begins on the day.
    const LocalTime from = u == DateUnit::week ? origin + std::chrono::hours((*first_day + 1) % 7 * 24) : origin;
    return Value(in->utc(from + milliseconds(floor_div((time - from).count(), length) * length)));
  });
}

template <uint32_t bson::Timestamp::*part, int code>
Value timestamp_part(std::string_view name, Arguments a) {
  if (a[0].is_nullish()) return Value::null();
  if (a[0].type() != Type::timestamp) fail(code, " Argument to " + std::string(name) + " must be a timestamp, but is " + named(a[0]));
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
    {"$isoWeekYear", parse_part<&Parts::iso_year>},
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

std::span<const OperatorEntry> date_operators() { return entries; }

}  // namespace server::query
