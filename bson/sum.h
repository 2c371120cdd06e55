// A Sum adds many numbers, for $sum and $avg; the order in which they come hardly matters. Integers are added
// exactly in 128 bits, doubles with a running correction (double-double), decimals as decimals; only the total is
// rounded.
#pragma once

#include "bson/value.h"

namespace bson {

class Sum {
 public:
  void add(const ValueView& value);  // values that are no numbers are skipped
  uint64_t count() const { return count_; }

  // Returns the sum in the widest type that came: int32 while it fits, int64 while it fits, double; decimal128 if there was any.
  // Without numbers it is an int32 0.
  Value total() const;
  Value average() const;  // a double or decimal128; null without numbers

 private:
  double total_double() const;
  Decimal128 total_decimal() const;

  __extension__ using int128 = __int128;
  uint64_t count_ = 0;
  int128 integers_ = 0;
  double doubles_ = 0;
  double correction_ = 0;
  double special_ = 0;  // the sum of infinities and NaN, which would spoil the correction
  Decimal128 decimals_{0, uint64_t{6176} << 49};
  bool any_special_ = false;
  Type widest_ = Type::int32;
};

}  // namespace bson
