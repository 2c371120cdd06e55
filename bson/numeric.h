// Arithmetic over BSON's four kinds of number.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bson/types.h"

namespace bson {

// Truncated toward zero, clamped to the range; NaN gives 0.
int64_t saturated_int64(double value);

double decimal_to_double(const Decimal128& value);
Decimal128 decimal_from_int64(int64_t value);
Decimal128 decimal_from_double(double value);  // 15 significant digits, as MongoDB converts
std::optional<Decimal128> decimal_from_string(std::string_view text);
std::string decimal_to_string(const Decimal128& value);

}  // namespace bson
