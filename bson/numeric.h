// These functions convert between BSON's four kinds of number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bson/types.h"

namespace bson {

// Truncates toward zero and clamps to the range; NaN gives 0.
int64_t saturated_int64(double value);
int64_t saturated_int64(const Decimal128& value);

// Returns the nearest double, which is an infinity beyond the range.
double decimal_to_double(const Decimal128& value);
Decimal128 decimal_from_int64(int64_t value);
Decimal128 decimal_from_double(double value);            // 15 significant digits, as MongoDB converts
Decimal128 decimal_from_double_34_digits(double value);  // as close as decimal128 gets

// Returns nothing for what is not a number, or would have to be rounded to fit.
std::optional<Decimal128> decimal_from_string(std::string_view text);
std::string decimal_to_string(const Decimal128& value);

// Returns the shortest decimal text that reads back as the same double: "1.5", "1", "1e+22", "NaN", "Infinity".
std::string double_to_string(double value);

}  // namespace bson
