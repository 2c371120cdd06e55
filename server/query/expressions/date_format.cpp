#include "server/query/expressions/date_format.h"

#include <algorithm>
#include <cctype>

#include "bson/json.h"
#include "server/core/text.h"
#include "server/query/expressions/operator_support.h"

namespace server::query {

date::local_days day_of_parts(int64_t year, int64_t month, int64_t day) {
  const int64_t months = year * 12 + month - 1;
  const int64_t in_year = months / 12 - (months % 12 < 0);
  return date::local_days(date::year(static_cast<int>(in_year)) / date::month(static_cast<unsigned>(months - in_year * 12) + 1) /
                          1) +
         date::days(day - 1);
}

date::local_days day_of_iso_parts(int64_t year, int64_t week, int64_t day_of_week) {
  const date::local_days fourth = date::local_days(date::year(static_cast<int>(year)) / 1 / 4);
  const unsigned weekday = date::weekday(fourth).c_encoding();
  return fourth - date::days(weekday == 0 ? 6 : weekday - 1) + date::days((week - 1) * 7 + day_of_week - 1);
}

namespace {

class DateReader {
 public:
  // Returns false if the text is no date or is incomplete.
  bool read(std::string_view text, std::string_view format) {
    for (size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%') {
        if (!skip(text, format[i])) return false;
        continue;
      }
      if (++i == format.size()) fail(18535, "Unmatched '%' at end of format string");
      if (!take(text, format, i)) return false;
    }
    return text.empty() && complete();
  }

  FormattedDate made() const {
    const LocalTime local = LocalTime(day_->time_since_epoch()) + std::chrono::hours(hour_) +
                            std::chrono::minutes(minute_ - offset_.value_or(0)) + std::chrono::seconds(second_) +
                            std::chrono::milliseconds(millisecond_);
    return {local, offset_.has_value()};
  }

 private:
  static bool skip(std::string_view& text, char c) {
    if (text.empty() || text.front() != c) return false;
    text.remove_prefix(1);
    return true;
  }
  static bool number(std::string_view& text, size_t digits_max, int most, std::optional<int>& to) {
    size_t digits = 0;
    int value = 0;
    for (; digits < digits_max && digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])); ++digits)
      value = value * 10 + text[digits] - '0';
    text.remove_prefix(digits);
    to = value;
    return digits > 0 && value <= most;
  }
  static bool number(std::string_view& text, size_t digits_max, int most, int& to) {
    std::optional<int> value;
    if (!number(text, digits_max, most, value)) return false;
    to = *value;
    return true;
  }
  bool take_month(std::string_view& text) {
    for (int i = 0; i < 12; ++i) {
      for (const std::string_view name : {month_names[i], month_names[i].substr(0, 3)}) {
        const auto same = [](char a, char b) {
          return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
        };
        if (text.size() < name.size() || !std::equal(name.begin(), name.end(), text.begin(), same)) continue;
        text.remove_prefix(name.size());
        month_ = i + 1;
        return true;
      }
    }
    return false;
  }
  bool take_minutes(std::string_view& text) {
    const bool negative = !text.empty() && text.front() == '-';
    int minutes = 0;
    if (!skip(text, negative ? '-' : '+') || !number(text, 4, 24 * 60, minutes)) return false;
    offset_ = negative ? -minutes : minutes;
    return true;
  }
  bool take(std::string_view& text, std::string_view format, size_t at) {
    switch (format[at]) {
      case 'Y': return number(text, 4, 9999, year_);
      case 'm': return number(text, 2, 12, month_);
      case 'd': return number(text, 2, 31, day_of_month_);
      case 'j': return number(text, 3, 366, day_of_year_);
      case 'G': return number(text, 4, 9999, iso_year_);
      case 'V': return number(text, 2, 53, iso_week_);
      case 'u': return number(text, 1, 7, iso_day_);
      case 'b':
      case 'B': return take_month(text);
      case 'H': return number(text, 2, 24, hour_);
      case 'M': return number(text, 2, 59, minute_);
      case 'S': return number(text, 2, 59, second_);
      case 'L': return number(text, 3, 999, millisecond_);
      case 'z': return bson::take_utc_offset(text, offset_.emplace());
      case 'Z': return take_minutes(text);
      case '%': return skip(text, '%');
      default: fail(18536, "Invalid format character '%" + std::string(character_at(format, at)) + "' in format string");
    }
  }
  bool complete() {
    if (iso_year_) {
      if (year_ || month_ || day_of_month_) return false;
      if (*iso_year_ > 0 && iso_week_.value_or(1) > 0 && iso_day_.value_or(1) > 0)
        day_ = day_of_iso_parts(*iso_year_, iso_week_.value_or(1), iso_day_.value_or(1));
    } else if (year_ && day_of_year_) {
      if (*year_ > 0 && *day_of_year_ > 0) day_ = day_of_parts(*year_, 1, *day_of_year_);
    } else if (year_ && month_ && day_of_month_) {
      const auto ymd = date::year(*year_) / *month_ / *day_of_month_;
      if (ymd.ok()) day_ = date::local_days(ymd);
    }
    return day_.has_value();
  }

  std::optional<int> year_, month_, day_of_month_, day_of_year_, iso_year_, iso_week_, iso_day_;
  int hour_ = 0, minute_ = 0, second_ = 0, millisecond_ = 0;
  std::optional<int> offset_;  // minutes
  std::optional<date::local_days> day_;
};

}  // namespace

void check_date_format(std::string_view format, std::string_view letters) {
  for (size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    if (++i == format.size()) fail(18535, "Unmatched '%' at end of format string");
    if (letters.find(format[i]) == std::string_view::npos)
      fail(18536, "Invalid format character '%" + std::string(character_at(format, i)) + "' in format string");
  }
}

std::optional<FormattedDate> read_date(std::string_view text, std::string_view format) {
  DateReader reader;
  return reader.read(text, format) ? std::optional(reader.made()) : std::nullopt;
}

}  // namespace server::query
