// MongoDB writes counts in replies as Int32 if they fit, else as Int64.
#pragma once

#include <cstdint>

#include "bson/value.h"

namespace server::query {

inline bson::Value fitting_int(int64_t number) {
  const auto narrow = static_cast<int32_t>(number);
  return narrow == number ? bson::Value(narrow) : bson::Value(number);
}

}  // namespace server::query
