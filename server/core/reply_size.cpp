#include "server/core/reply_size.h"

#include <fmt/format.h>

#include "base/error.h"

namespace server {

void check_document_size(size_t bytes, size_t bytes_max) {
  if (bytes <= bytes_max) return;
  throw base::OperationError(base::ErrorCode::bson_object_too_large,
                             fmt::format("BSONObj size: {} (0x{:X}) is invalid. Size must be between 0 and {}({}MB)", bytes,
                                         bytes, bytes_max, bytes_max >> 20));
}

}  // namespace server
