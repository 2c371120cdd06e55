#include "bson/numeric.h"

#include <bson/bson.h>

#include <charconv>
#include <cmath>
#include <limits>

namespace bson {

int64_t saturated_int64(double value) {
  constexpr double beyond = 9223372036854775808.0;  // 2^63
  if (std::isnan(value)) return 0;
  if (value >= beyond) return std::numeric_limits<int64_t>::max();
  if (value < -beyond) return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

std::optional<Decimal128> decimal_from_string(std::string_view text) {
  bson_decimal128_t parsed;
  // libbson would take an embedded NUL for the end of the text.
  if (text.empty() || text.size() > 10000 || text.find('\0') != text.npos) return std::nullopt;
  if (!bson_decimal128_from_string_w_len(text.data(), static_cast<int>(text.size()), &parsed)) return std::nullopt;
  return Decimal128{parsed.low, parsed.high};
}

std::string decimal_to_string(const Decimal128& value) {
  char text[BSON_DECIMAL128_STRING];
  const bson_decimal128_t dec = {value.low, value.high};
  bson_decimal128_to_string(&dec, text);
  return text;
}

std::string double_to_string(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, value);
  return {text, end.ptr};
}

}  // namespace bson
