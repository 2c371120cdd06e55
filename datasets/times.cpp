#include "datasets/times.h"

#include <array>
#include <charconv>
#include <chrono>
#include <vector>

namespace datasets {
namespace {

std::optional<int> digits(std::string_view& text, size_t fewest, size_t most) {
  size_t n = 0;
  while (n < most && n < text.size() && text[n] >= '0' && text[n] <= '9') ++n;
  if (n < fewest) return std::nullopt;
  int value = 0;
  std::from_chars(text.data(), text.data() + n, value);
  text.remove_prefix(n);
  return value;
}

bool take(std::string_view& text, char c) {
  if (text.empty() || text.front() != c) return false;
  text.remove_prefix(1);
  return true;
}

struct Moment {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0, zone_minutes = 0;

  std::optional<int64_t> epoch_ms() const {
    using namespace std::chrono;
    const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok() || hour > 24 || minute > 59 || second > 60) return std::nullopt;
    const int64_t days = sys_days(date).time_since_epoch().count();
    return (((days * 24 + hour) * 60 + minute - zone_minutes) * 60 + second) * 1000 + ms;
  }
};

// "+0200", "-07:00"
std::optional<int> zone(std::string_view text) {
  const bool west = !text.empty() && text.front() == '-';
  if (!take(text, '+') && !take(text, '-')) return std::nullopt;
  const auto hours = digits(text, 2, 2);
  take(text, ':');
  const auto minutes = digits(text, 2, 2);
  if (!hours || !minutes || !text.empty()) return std::nullopt;
  const int offset = *hours * 60 + *minutes;
  return west ? -offset : offset;
}

std::optional<int> named_zone(std::string_view name) {
  struct Named {
    std::string_view name;
    int hours;
  };
  static constexpr std::array<Named, 12> zones{{{"GMT", 0},
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
  for (const auto& named : zones) {
    if (named.name == name) return named.hours * 60;
  }
  return std::nullopt;
}

std::optional<int> month_number(std::string_view name) {
  static constexpr std::string_view months = "janfebmaraprmayjunjulaugsepoctnovdec";
  if (name.size() < 3) return std::nullopt;
  std::array<char, 3> lower;
  for (size_t i = 0; i < 3; ++i) lower[i] = static_cast<char>(name[i] | 0x20);
  const size_t at = months.find(std::string_view(lower.data(), 3));
  return at == std::string_view::npos || at % 3 != 0 ? std::nullopt : std::optional(static_cast<int>(at / 3) + 1);
}

bool clock(std::string_view word, Moment& moment) {
  const auto hour = digits(word, 1, 2);
  if (!hour || !take(word, ':')) return false;
  const auto minute = digits(word, 2, 2);
  if (!minute) return false;
  moment.hour = *hour;
  moment.minute = *minute;
  if (take(word, ':')) moment.second = digits(word, 2, 2).value_or(0);
  return word.empty();
}

}  // namespace

std::optional<int64_t> parse_iso8601(std::string_view text) {
  Moment moment;
  auto part = [&](int& value, size_t n, char before) {
    if (before && !take(text, before)) return false;
    const auto number = digits(text, n, n);
    value = number.value_or(0);
    return number.has_value();
  };
  if (!part(moment.year, 4, 0) || !part(moment.month, 2, '-') || !part(moment.day, 2, '-')) return std::nullopt;
  if (take(text, 'T') || take(text, ' ')) {
    if (!part(moment.hour, 2, 0) || !part(moment.minute, 2, ':')) return std::nullopt;
    if (take(text, ':')) {
      const auto second = digits(text, 2, 2);
      if (!second) return std::nullopt;
      moment.second = *second;
    }
    if (take(text, '.')) {
      for (int scale = 100; !text.empty() && text.front() >= '0' && text.front() <= '9'; text.remove_prefix(1), scale /= 10) {
        moment.ms += (text.front() - '0') * scale;
      }
    }
  }
  if (!text.empty() && text != "Z") {
    const auto offset = zone(text);
    if (!offset) return std::nullopt;
    moment.zone_minutes = *offset;
  }
  return moment.epoch_ms();
}

std::optional<int64_t> parse_mail_date(std::string_view text) {
  Moment moment;
  bool timed = false;
  int depth = 0;  // of "(PDT)"
  std::vector<int> numbers;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth > 0 || c == ' ' || c == '\t' || c == ',' || c == ')') {
      ++at;
      continue;
    }
    std::string_view word = text.substr(at, text.find_first_of(" \t,(", at) - at);
    at += word.size();
    std::string_view rest = word;
    if (word.find(':') != std::string_view::npos && word.front() != '+' && word.front() != '-') {
      timed = clock(word, moment) || timed;
    } else if (const auto month = month_number(word); month && moment.month == 0) {
      moment.month = *month;
    } else if (const auto offset = zone(word)) {
      moment.zone_minutes = *offset;
    } else if (const auto named = named_zone(word)) {
      moment.zone_minutes = *named;
    } else if (const auto number = digits(rest, 1, 4); number && rest.empty()) {
      numbers.push_back(*number);
    }
  }
  if (numbers.size() < 2 || moment.month == 0 || !timed) return std::nullopt;
  moment.day = numbers[0];
  moment.year = numbers[1] < 50 ? numbers[1] + 2000 : numbers[1] < 1000 ? numbers[1] + 1900 : numbers[1];
  return moment.epoch_ms();
}

}  // namespace datasets
