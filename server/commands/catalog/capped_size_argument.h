// The commands that make capped collections of others take `size`.
#pragma once

#include "base/error.h"
#include "server/core/command.h"

namespace server {

// Returns it in bytes. A value that isn't a number counts as 0, as with MongoDB. Throws InvalidOptions (72) if it is missing.
inline int64_t capped_size_argument(const Request& request) {
  const auto size = request.body.find("size");
  const int64_t bytes = size.is_number() ? size.to_int64() : 0;
  if (bytes <= 0)
    throw base::OperationError(base::ErrorCode::invalid_options, "Capped collection size must be greater than zero");
  return bytes;
}

}  // namespace server
