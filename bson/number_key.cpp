#include "bson/number_key.h"

#include <cmath>

#include "bson/decimal.h"
#include "bson/numeric.h"

namespace bson {
namespace {

// The parts of a finite number that is not zero.
struct Parts {
  bool negative = false;
  bool large = false;     // |v| >= 2^63; `whole` says nothing then
  bool fraction = false;  // |v| is not `whole`
  uint64_t whole = 0;     // truncated |v|
  double truncated = 0;   // |v| toward zero; used with a fraction or when large
  bool exact = true;      // `truncated` is |v|
  Decimal128 decimal;     // |v|, where it is not exact
};

class Writer {
 public:
  Writer(char* to, bool negative) : start_(to), to_(to), flip_(negative ? 0xff : 0) {}
  void kind(uint8_t value) { *to_++ = static_cast<char>(value); }
  void big_endian(uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) *to_++ = static_cast<char>((value >> shift) ^ flip_);
  }
  size_t written() const { return static_cast<size_t>(to_ - start_); }

 private:
  char* start_;
  char* to_;
  uint64_t flip_;
};

void write_truncated(Writer& writer, const Parts& parts) {
  writer.big_endian(std::bit_cast<uint64_t>(parts.truncated) << 1 | (parts.exact ? 0 : 1), 8);
  if (parts.exact) return;
  const NormalDecimal normal = decimal_normalize(parts.decimal);
  writer.big_endian(static_cast<uint16_t>(normal.exponent + 0x8000), 2);
  writer.big_endian(normal.high, 7);
  writer.big_endian(normal.low, 8);
}

size_t write_parts(const Parts& parts, char* to) {
  Writer writer(to, parts.negative);
  const auto kind = [&](int distance) {
    writer.kind(static_cast<uint8_t>(number_kind::zero + (parts.negative ? -distance : distance)));
  };
  if (parts.large) {
    kind(number_kind::large - number_kind::zero);
    write_truncated(writer, parts);
  } else if (parts.whole == 0) {
    kind(number_kind::small - number_kind::zero);
    write_truncated(writer, parts);
  } else {
    const uint64_t number = parts.whole << 1 | (parts.fraction ? 1 : 0);
    const int bytes = (64 - std::countl_zero(number) + 7) / 8;
    kind(number_kind::whole - number_kind::zero + bytes);
    writer.big_endian(number, bytes);
    if (parts.fraction) write_truncated(writer, parts);
  }
  return writer.written();
}

size_t only_kind(uint8_t kind, char* to) {
  *to = static_cast<char>(kind);
  return 1;
}

constexpr double two_63 = 9223372036854775808.0;

size_t integer_key(int64_t value, char* to) {
  if (value == 0) return only_kind(number_kind::zero, to);
  Parts parts;
  parts.negative = value < 0;
  parts.whole = parts.negative ? -static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  if (parts.whole >> 63) {  // only the smallest one
    parts.large = true;
    parts.truncated = two_63;
  }
  return write_parts(parts, to);
}

size_t double_key(double value, char* to) {
  if (std::isnan(value)) return only_kind(number_kind::nan, to);
  if (std::isinf(value)) return only_kind(value < 0 ? number_kind::negative_infinity : number_kind::infinity, to);
  if (value == 0) return only_kind(number_kind::zero, to);
  Parts parts;
  parts.negative = value < 0;
  parts.truncated = std::fabs(value);
  parts.large = parts.truncated >= two_63;
  if (!parts.large) {
    parts.whole = static_cast<uint64_t>(parts.truncated);
    parts.fraction = static_cast<double>(parts.whole) != parts.truncated;
  }
  return write_parts(parts, to);
}

size_t decimal_key(const Decimal128& value, char* to) {
  if (decimal_is_nan(value)) return only_kind(number_kind::nan, to);
  const bool negative = decimal_is_negative(value);
  if (decimal_is_infinite(value)) return only_kind(negative ? number_kind::negative_infinity : number_kind::infinity, to);
  if (decimal_is_zero(value)) return only_kind(number_kind::zero, to);
  Parts parts;
  parts.negative = negative;
  parts.decimal = decimal_abs(value);
  const TruncatedDouble truncated = decimal_truncate_to_double(parts.decimal);
  parts.truncated = truncated.value;
  parts.exact = truncated.exact;
  parts.large = parts.truncated >= two_63;
  if (!parts.large) {
    parts.whole = static_cast<uint64_t>(saturated_int64(parts.decimal));
    parts.fraction = decimal_compare(decimal_from_int64(static_cast<int64_t>(parts.whole)), parts.decimal) != 0;
  }
  return write_parts(parts, to);
}

}  // namespace

size_t number_key(const ValueView& value, char* to) {
  switch (value.type()) {
    case Type::int32: return integer_key(value.as_int32(), to);
    case Type::int64: return integer_key(value.as_int64(), to);
    case Type::number_double: return double_key(value.as_double(), to);
    default: return decimal_key(value.as_decimal128(), to);
  }
}

}  // namespace bson
