#include "bson/sum.h"

#include <cmath>
#include <limits>

#include "bson/decimal.h"
#include "bson/numeric.h"

namespace bson {
namespace {

// Adds to sum + correction without losing what sum cannot hold (Knuth's two-sum).
void add_exactly(double& sum, double& correction, double value) {
  const double total = sum + value;
  const double part = total - sum;
  correction += (sum - (total - part)) + (value - part);
  sum = total;
}

int rank(Type type) {
  return type == Type::int32 ? 0 : type == Type::int64 ? 1 : type == Type::number_double ? 2 : 3;
}

}  // namespace

void Sum::add(const ValueView& value) {
  if (!value.is_number()) return;
  ++count_;
  if (rank(value.type()) > rank(widest_)) widest_ = value.type();
  switch (value.type()) {
    case Type::int32: integers_ += value.as_int32(); return;
    case Type::int64: integers_ += value.as_int64(); return;
    case Type::number_double:
      if (std::isfinite(value.as_double())) {
        add_exactly(doubles_, correction_, value.as_double());
      } else {
        special_ += value.as_double();
        any_special_ = true;
      }
      return;
    default: decimals_ = decimal_add(decimals_, value.as_decimal128());
  }
}

double Sum::total_double() const {
  if (any_special_) return special_;
  double sum = doubles_;
  double correction = correction_;
  const auto high = static_cast<double>(integers_);
  add_exactly(sum, correction, high);
  add_exactly(sum, correction, static_cast<double>(integers_ - static_cast<int128>(high)));
  return std::isfinite(sum) ? sum + correction : sum;
}

Decimal128 Sum::total_decimal() const {
  const auto high = static_cast<int64_t>(integers_ >> 32);
  const auto low = static_cast<int64_t>(integers_ & 0xffffffff);
  const Decimal128 whole =
      decimal_add(decimal_multiply(decimal_from_int64(high), decimal_from_int64(int64_t{1} << 32)), decimal_from_int64(low));
  Decimal128 total = decimal_add(decimals_, whole);
  if (any_special_) return decimal_add(total, decimal_from_double(special_));
  // Without this a sum of decimals alone would take the exponent of the doubles' zero.
  if (doubles_ == 0 && correction_ == 0) return total;
  if (!std::isfinite(doubles_)) return decimal_add(total, decimal_from_double(doubles_));
  const Decimal128 doubles = decimal_add(decimal_from_double_34_digits(doubles_), decimal_from_double_34_digits(correction_));
  return decimal_add(total, doubles);
}

Value Sum::total() const {
  if (widest_ == Type::decimal128) return Value(total_decimal());
  if (widest_ == Type::number_double) return Value(total_double());
  const auto narrow = static_cast<int32_t>(integers_);
  if (widest_ == Type::int32 && narrow == integers_) return Value(narrow);
  const auto wide = static_cast<int64_t>(integers_);
  return wide == integers_ ? Value(wide) : Value(static_cast<double>(integers_));
}

Value Sum::average() const {
  if (count_ == 0) return Value::null();
  if (widest_ == Type::decimal128) {
    return Value(decimal_divide(total_decimal(), decimal_from_int64(static_cast<int64_t>(count_))));
  }
  return Value(total_double() / static_cast<double>(count_));
}

}  // namespace bson
