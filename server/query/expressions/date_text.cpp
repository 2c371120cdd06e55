#include "server/query/expressions/date_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "base/error.h"
#include "server/query/expressions/time_zone.h"

namespace server::query {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

struct Named {
  std::string_view name;
  int hours;
};
constexpr Named zones[] = {{"z", 0},    {"utc", 0},  {"gmt", 0},  {"est", -5}, {"edt", -4}, {"cst", -6},
                           {"cdt", -5}, {"mst", -7}, {"mdt", -6}, {"pst", -8}, {"pdt", -7}, {"bst", 1},
                           {"cet", 1},  {"cest", 2}, {"eet", 2},  {"eest", 3}};
constexpr std::string_view weekdays[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// A name may be cut to three letters ("Jul", "Tue"), or to four ("Sept").
bool is_name(std::string_view word, std::string_view whole) {
  const bool short_form = word.size() == 3 || (word.size() == 4 && (whole == "september" || whole == "tuesday"));
  return word == whole || (short_form && whole.starts_with(word)) || (whole == "thursday" && (word == "thur" || word == "thurs"));
}

// The text is read from left to right. Each function below either reads its part, or leaves the place and returns false.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<FormattedDate> read() {
    skip();
    while (!done()) {
      if (!part()) return std::nullopt;
      skip();
    }
    if (!day_) return std::nullopt;
    FormattedDate found{.local = LocalTime(*day_) + time_.value_or(milliseconds(0)), .has_offset = offset_.has_value() || zone_};
    if (offset_) found.local -= *offset_;
    if (zone_) found.local = LocalTime(milliseconds(zone_->utc(found.local).ms));
    return found;
  }

 private:
  struct Number {
    int64_t value = 0;
    size_t digits = 0;
  };

  bool done() const { return at_ == text_.size(); }
  char here(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool digit(size_t ahead = 0) const { return std::isdigit(static_cast<unsigned char>(here(ahead))) != 0; }
  bool letter(size_t ahead = 0) const { return std::isalpha(static_cast<unsigned char>(here(ahead))) != 0; }
  void skip() {
    while (here() == ' ' || here() == ',' || here() == '\t') ++at_;
  }
  bool take(char c) {
    if (here() != c) return false;
    ++at_;
    return true;
  }
  Number number() {
    constexpr size_t digits_max = 8;
    Number found;
    while (digit() && found.digits < digits_max) {
      found.value = found.value * 10 + (text_[at_++] - '0');
      ++found.digits;
    }
    return found;
  }
  std::string word() {
    const size_t begin = at_;
    while (letter()) ++at_;
    return lower(text_.substr(begin, at_ - begin));
  }

  bool part() {
    if (digit()) return (!day_ && numeric_date()) || (!time_ && time()) || (!day_ && day_then_month());
    if (here() == '+' || here() == '-') return time_ && offset();
    if (letter()) return named();
    return false;
  }

  bool set_day(int64_t year, int64_t month, int64_t day) {
    if (year < 0 || year > 9999 || month < 1 || month > 12 || day < 1 || day > 31) return false;
    const date::year_month_day valid{date::year(static_cast<int>(year)), date::month(static_cast<unsigned>(month)),
                                     date::day(static_cast<unsigned>(day))};
    if (!valid.ok()) return false;
    day_ = day_of_parts(year, month, day);
    return true;
  }
  // Years of two digits are those from 1970 to 2069.
  static int64_t full_year(Number year) { return year.digits > 2 ? year.value : year.value + (year.value < 70 ? 2000 : 1900); }

  bool numeric_date() {
    const size_t begin = at_;
    if (numeric_date_parts()) {
      if (here() == 'T' || here() == 't') {
        ++at_;
        if (!time()) return false;
      }
      return true;
    }
    at_ = begin;
    return false;
  }

  bool numeric_date_parts() {
    const Number first = number();
    if (first.digits == 8 && !digit()) return set_day(first.value / 10000, first.value / 100 % 100, first.value % 100);
    if (first.digits == 7 && !digit()) return set_day_of_year(first.value / 1000, first.value % 1000);
    const char mark = here();
    if (first.digits == 4 && (mark == 'W' || (mark == '-' && here(1) == 'W'))) return iso_week(first.value);
    if (mark != '-' && mark != '/' && mark != '.') return false;
    ++at_;
    const Number second = number();
    if (second.digits == 0) return false;
    if (first.digits == 4 && second.digits == 3 && mark != '/') return set_day_of_year(first.value, second.value);
    if (!take(mark)) return false;
    const Number third = number();
    if (third.digits == 0 || digit()) return false;
    if (first.digits == 4) return third.digits <= 2 && set_day(first.value, second.value, third.value);
    if (first.digits > 2 || second.digits > 2 || (third.digits != 4 && third.digits != 2)) return false;
    if (mark == '/') return set_day(full_year(third), first.value, second.value);  // the American order
    return third.digits == 4 && set_day(third.value, second.value, first.value);
  }

  bool set_day_of_year(int64_t year, int64_t day) {
    const int64_t days = date::year(static_cast<int>(year)).is_leap() ? 366 : 365;
    if (day < 1 || day > days) return false;
    day_ = day_of_parts(year, 1, day);
    return true;
  }

  bool iso_week(int64_t year) {
    take('-');
    take('W');
    if (!digit() || !digit(1)) return false;
    const int64_t week = (here() - '0') * 10 + (here(1) - '0');
    at_ += 2;
    int64_t day = 1;
    if (here() == '-' && digit(1)) ++at_;
    if (digit()) day = text_[at_++] - '0';
    if (week < 1 || week > 53 || day < 1 || day > 7 || digit()) return false;
    day_ = day_of_iso_parts(year, week, day);
    return true;
  }

  // Takes 11:56, 11:56:02.813, 11am, 11:56 PM, and 115602 behind a T.
  bool time() {
    const size_t begin = at_;
    if (time_parts()) return true;
    at_ = begin;
    return false;
  }

  bool time_parts() {
    const bool packed = at_ > 0 && (text_[at_ - 1] == 'T' || text_[at_ - 1] == 't');
    Number hour = number();
    int64_t minute = 0, second = 0, ms = 0;
    bool given = false;
    if (packed && (hour.digits == 4 || hour.digits == 6)) {
      if (hour.digits == 6) second = hour.value % 100;
      const int64_t rest = hour.digits == 6 ? hour.value / 100 : hour.value;
      minute = rest % 100;
      hour = {rest / 100, 2};
      given = true;
    } else if (hour.digits >= 1 && hour.digits <= 2 && here() == ':' && digit(1)) {
      ++at_;
      const Number minutes_of = number();
      if (minutes_of.digits != 2) return false;
      minute = minutes_of.value;
      if (here() == ':' && digit(1)) {
        ++at_;
        const Number seconds_of = number();
        if (seconds_of.digits > 2) return false;
        second = seconds_of.value;
        if ((here() == '.' || here() == ',') && digit(1)) {
          ++at_;
          for (int64_t unit = 100; digit(); unit /= 10) ms += unit * (text_[at_++] - '0');
        }
      }
      given = true;
    }
    const size_t before_half = at_;
    while (here() == ' ') ++at_;
    const std::string half = word();
    if (half == "am" || half == "pm") {
      if (hour.digits == 0 || hour.digits > 2 || hour.value < 1 || hour.value > 12) return false;
      hour.value = hour.value % 12 + (half == "pm" ? 12 : 0);
      given = true;
    } else {
      at_ = before_half;
    }
    if (!given || hour.value > 24 || minute > 59 || second > 59 || (hour.value == 24 && (minute != 0 || second != 0 || ms != 0)))
      return false;
    time_ = hours(hour.value) + minutes(minute) + seconds(second) + milliseconds(ms);
    return true;
  }

  // +05, +0530, +05:30
  bool offset() {
    if (offset_ || zone_) return false;
    const int sign = here() == '-' ? -1 : 1;
    ++at_;
    const Number first = number();
    int64_t hour = first.value, minute = 0;
    if (first.digits == 4) {
      hour = first.value / 100;
      minute = first.value % 100;
    } else if (first.digits > 2 || first.digits == 0) {
      return false;
    } else if (here() == ':' && digit(1)) {
      ++at_;
      const Number second = number();
      if (second.digits != 2) return false;
      minute = second.value;
    }
    if (hour > 14 || minute > 59) return false;
    offset_ = sign * (hours(hour) + minutes(minute));
    return true;
  }

  // Takes 4 July 2017, 4th of July 2017, 4-Jul-2017.
  bool day_then_month() {
    const Number day = number();
    if (day.digits == 0 || day.digits > 2) return false;
    ordinal();
    while (here() == ' ' || here() == '-' || here() == '.') ++at_;
    const size_t begin = at_;
    if (word() == "of") {
      skip();
    } else {
      at_ = begin;
    }
    const auto month = month_of(word());
    if (!month) return false;
    while (here() == ' ' || here() == '-' || here() == '.' || here() == ',') ++at_;
    return year_behind(*month, day.value);
  }

  void ordinal() {
    const size_t begin = at_;
    const std::string suffix = word();
    if (suffix != "st" && suffix != "nd" && suffix != "rd" && suffix != "th") at_ = begin;
  }

  static std::optional<int64_t> month_of(std::string_view word) {
    for (size_t i = 0; i < std::size(month_names); ++i) {
      if (is_name(word, lower(month_names[i]))) return static_cast<int64_t>(i) + 1;
    }
    return std::nullopt;
  }

  bool year_behind(int64_t month, int64_t day) {
    const Number year = number();
    if (year.digits != 4 && year.digits != 2) return false;
    if (digit() || here() == ':') return false;
    return set_day(full_year(year), month, day);
  }

  // A month's name begins a date; a weekday's says nothing; a zone stands behind the time.
  bool named() {
    const size_t begin = at_;
    const std::string name = word();
    if (const auto month = month_of(name)) return !day_ && month_then_day(*month);
    if (std::any_of(std::begin(weekdays), std::end(weekdays), [&](std::string_view day) { return is_name(name, day); })) {
      take('.');
      return true;
    }
    if (offset_ || zone_ || !day_) return false;
    if (here() == '/' || here() == '_') return zone_name(begin);
    const auto* const zone = std::find_if(std::begin(zones), std::end(zones), [&](const Named& one) { return one.name == name; });
    if (zone == std::end(zones)) return false;
    offset_ = hours(zone->hours);
    return true;
  }

  bool month_then_day(int64_t month) {
    while (here() == ' ' || here() == '.' || here() == '-') ++at_;
    const Number day = number();
    if (day.digits == 0 || day.digits > 2) return false;
    ordinal();
    while (here() == ' ' || here() == ',' || here() == '-') ++at_;
    return year_behind(month, day.value);
  }

  bool zone_name(size_t begin) {
    while (letter() || here() == '/' || here() == '_' || here() == '-') ++at_;
    try {
      zone_.emplace(text_.substr(begin, at_ - begin));
    } catch (const base::OperationError&) {
      return false;
    }
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
  std::optional<date::local_days> day_;
  std::optional<milliseconds> time_;
  std::optional<seconds> offset_;
  std::optional<TimeZone> zone_;
};

}  // namespace

std::optional<FormattedDate> read_date_text(std::string_view text) {
  return Reader(text).read();
}

}  // namespace server::query
