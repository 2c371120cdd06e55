// This file reads and writes dates and base64 as JSON has them.
#include <charconv>
#include <chrono>
#include <cstdio>

#include "bson/json.h"

namespace bson {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int64_t ms_per_day = 86'400'000;

// Reads a number of exactly `digits` digits off the front.
bool take_number(std::string_view& text, size_t digits, int& number) {
  if (text.size() < digits) return false;
  const auto parsed = std::from_chars(text.data(), text.data() + digits, number);
  if (text[0] == '-' || parsed.ec != std::errc() || parsed.ptr != text.data() + digits) return false;
  text.remove_prefix(digits);
  return true;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text[0] != wanted) return false;
  text.remove_prefix(1);
  return true;
}

// Reads the milliseconds of ".5" or ".123"; further digits are dropped.
bool take_fraction(std::string_view& text, int& ms) {
  if (!take(text, '.')) return true;
  size_t digits = 0;
  for (int scale = 100; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, scale /= 10) {
    ms += (text[digits] - '0') * scale;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

}  // namespace

bool take_utc_offset(std::string_view& text, int& minutes) {
  minutes = 0;
  if (take(text, 'Z')) return true;
  const bool west = take(text, '-');
  if (!west && !take(text, '+')) return false;
  int hour = 0, minute = 0;
  if (!take_number(text, 2, hour)) return false;
  const bool colon = take(text, ':'), more = !text.empty() && text[0] >= '0' && text[0] <= '9';
  if ((colon || more) && !take_number(text, 2, minute)) return false;
  if (hour > 23 || minute > 59) return false;
  minutes = (hour * 60 + minute) * (west ? -1 : 1);
  return true;
}

std::string date_to_string(Date date) {
  namespace chrono = std::chrono;
  const int64_t days = date.ms >= 0 ? date.ms / ms_per_day : -((-(date.ms + 1)) / ms_per_day) - 1;
  const int64_t ms = date.ms - days * ms_per_day;
  if (days < -719'528 || days >= 2'932'897) return std::to_string(date.ms);  // 0000-01-01, 10000-01-01
  const chrono::year_month_day day{chrono::sys_days(chrono::days(days))};
  char text[64];
  int length =
      std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(day.year()),
                    static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()), static_cast<int>(ms / 3'600'000),
                    static_cast<int>(ms / 60'000 % 60), static_cast<int>(ms / 1000 % 60));
  if (ms % 1000) length += std::snprintf(text + length, sizeof text - length, ".%03d", static_cast<int>(ms % 1000));
  text[length++] = 'Z';
  return {text, static_cast<size_t>(length)};
}

std::optional<Date> date_from_string(std::string_view text, bool* has_offset) {
  namespace chrono = std::chrono;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0, offset = 0;
  if (!take_number(text, 4, year) || !take(text, '-') || !take_number(text, 2, month) || !take(text, '-') ||
      !take_number(text, 2, day)) {
    return std::nullopt;
  }
  if (take(text, 'T') || take(text, ' ')) {
    if (!take_number(text, 2, hour) || !take(text, ':') || !take_number(text, 2, minute)) return std::nullopt;
    if (take(text, ':') && (!take_number(text, 2, second) || !take_fraction(text, ms))) return std::nullopt;
    if (has_offset) *has_offset = !text.empty();
    if (!text.empty() && !take_utc_offset(text, offset)) return std::nullopt;
  } else if (has_offset) {
    *has_offset = false;
  }
  const chrono::year_month_day date{chrono::year(year), chrono::month(static_cast<unsigned>(month)),
                                    chrono::day(static_cast<unsigned>(day))};
  if (!text.empty() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const int64_t days = chrono::sys_days(date).time_since_epoch().count();
  return Date{days * ms_per_day + ((hour * 60 + minute - offset) * int64_t{60} + second) * 1000 + ms};
}

std::string base64_encode(BytesView bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  const uint8_t* at = base::as_u8(bytes);
  for (size_t left = bytes.size(); left > 0;) {
    const size_t taken = left < 3 ? left : 3;
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < taken ? at[i] : 0);
    for (size_t i = 0; i < 4; ++i) text.push_back(i <= taken ? alphabet[group >> (18 - 6 * i) & 63] : '=');
    at += taken;
    left -= taken;
  }
  return text;
}

std::optional<Bytes> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  size_t padding = 0;
  while (padding < 2 && !text.empty() && text.back() == '=') {
    text.remove_suffix(1);
    ++padding;
  }
  Bytes bytes;
  bytes.reserve(text.size() * 3 / 4);
  uint32_t group = 0;
  int bits = 0;
  for (const char letter : text) {
    const size_t digit = alphabet.find(letter);
    if (digit == alphabet.npos) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(digit);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(group >> bits));
    group &= (1u << bits) - 1;
  }
  return bytes;
}

}  // namespace bson
