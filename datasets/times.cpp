#include "datasets/times.h"

#include <date/date.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <sstream>
#include <vector>

namespace datasets {
namespace {

using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;

struct Moment {
  date::year_month_day day{};
  date::hh_mm_ss<std::chrono::nanoseconds> time{};
  minutes offset{0};  // east of UTC
};

bool are_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// "+02", "+0200", "-07:00"; the library negates a number that it hasn't read where another text begins with a "-".
bool is_zone(std::string_view text) {
  const std::string_view digits = text.substr(1);
  if (digits.size() == 5) return are_digits(digits.substr(0, 2)) && digits[2] == ':' && are_digits(digits.substr(3));
  return (digits.size() == 2 || digits.size() == 4) && are_digits(digits);
}

// Returns what begins with a "+", or with the "-" behind the two of the date.
std::optional<std::string_view> zone_in(std::string_view text) {
  int signs = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '+' || (text[at] == '-' && ++signs == 3)) return text.substr(at);
  }
  return std::nullopt;
}

// The library converts numbers of seconds to integers, however large they are.
bool has_long_number(std::string_view text) {
  constexpr size_t whole_max = 4, fraction_max = 18;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find_first_not_of("0123456789", at), text.size());
    if (end - at > (at > 0 && text[at - 1] == '.' ? fraction_max : whole_max)) return true;
    at = end + 1;
  }
  return false;
}

// Reads all of `text` by a format of date::from_stream; nullopt where they don't match or something is left.
std::optional<Moment> read(const std::string& format, std::string_view text) {
  if (has_long_number(text)) return std::nullopt;
  std::istringstream in{std::string(text)};
  date::fields<std::chrono::nanoseconds> fields;
  Moment moment;
  date::from_stream(in, format.c_str(), fields, static_cast<std::string*>(nullptr), &moment.offset);
  if (in.fail() || in.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  moment.day = fields.ymd;
  moment.time = fields.tod;
  return moment;
}

// A leap second and the end of a day as 24:00 are moments too; they count on into the next minute or day.
std::optional<int64_t> epoch_ms(const Moment& moment) {
  const auto& time = moment.time;
  if (!moment.day.ok() || time.hours() > hours(24) || time.minutes() >= minutes(60) || time.seconds() > seconds(60)) {
    return std::nullopt;
  }
  const auto of_day = date::floor<std::chrono::milliseconds>(time.to_duration());
  return (date::sys_days(moment.day).time_since_epoch() + of_day - moment.offset).count();
}

// "+0200", "-07:00"
std::optional<minutes> numbered_zone(std::string_view word) {
  if (!is_zone(word)) return std::nullopt;
  for (const char* format : {"%z", "%Ez"}) {
    if (const auto zone = read(format, word)) return zone->offset;
  }
  return std::nullopt;
}

// The zones that RFC 5322, section 4.3, still allows.
std::optional<minutes> named_zone(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, int>, 12> zones{{{"GMT", 0},
                                                                           {"UT", 0},
                                                                           {"UTC", 0},
                                                                           {"Z", 0},
                                                                           {"EST", -5},
                                                                           {"EDT", -4},
                                                                           {"CST", -6},
                                                                           {"CDT", -5},
                                                                           {"MST", -7},
                                                                           {"MDT", -6},
                                                                           {"PST", -8},
                                                                           {"PDT", -7}}};
  for (const auto& [zone, hours_east] : zones) {
    if (zone == name) return hours(hours_east);
  }
  return std::nullopt;
}

// The words of a mail date: what lies between blanks and commas, without comments such as "(PDT)".
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  int depth = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth > 0 || c == ' ' || c == '\t' || c == ',' || c == ')') {
      ++at;
      continue;
    }
    words.push_back(text.substr(at, text.find_first_of(" \t,(", at) - at));
    at += words.back().size();
  }
  return words;
}

// RFC 5322, section 4.3: years of two digits lie between 1950 and 2049, years of three count from 1900.
int whole_year(int year) {
  return year < 50 ? year + 2000 : year < 1000 ? year + 1900 : year;
}

}  // namespace

std::optional<int64_t> parse_iso8601(std::string_view text) {
  if (const auto zone = zone_in(text); zone && !is_zone(*zone)) return std::nullopt;
  constexpr size_t date_bytes = 10;
  std::string moment(text);
  if (moment.size() > date_bytes && moment[date_bytes] == ' ') moment[date_bytes] = 'T';
  for (const char* clock : {"T%T", "T%R", ""}) {
    for (const char* zone : {"Z", "", "%Ez", "%z"}) {
      if (const auto found = read(std::string("%F") + clock + zone, moment)) return epoch_ms(*found);
    }
  }
  return std::nullopt;
}

std::optional<int64_t> parse_mail_date(std::string_view text) {
  Moment moment;
  std::optional<date::month> month;
  bool timed = false;
  std::vector<int> numbers;  // the day, then the year
  for (const std::string_view word : words_of(text)) {
    const char first = word.front();
    int number = 0;
    if (first == '+' || first == '-') {
      moment.offset = numbered_zone(word).value_or(moment.offset);
    } else if (word.find(':') != std::string_view::npos) {
      auto clock = read("%T", word);
      if (!clock) clock = read("%R", word);
      if (clock) moment.time = clock->time;
      timed = timed || clock;
    } else if (first < '0' || first > '9') {
      // Months are written out, too: three letters name each of them.
      if (const auto named = read("%b", word.substr(0, 3)); named && !month) {
        month = named->day.month();
      } else if (const auto zone = named_zone(word)) {
        moment.offset = *zone;
      }
    } else if (const auto [end, error] = std::from_chars(word.begin(), word.end(), number);
               error == std::errc() && end == word.end() && word.size() <= 4) {
      numbers.push_back(number);
    }
  }
  if (numbers.size() < 2 || !month || !timed) return std::nullopt;
  moment.day = date::year(whole_year(numbers[1])) / *month / numbers[0];
  return epoch_ms(moment);
}

}  // namespace datasets
