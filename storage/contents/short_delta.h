// short_delta makes a delta that may take a content's place, because it is short and was tried out.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

// Returns a delta that makes `target` out of `base`; nullopt: it would take more than `bytes_max`. This call is thread-safe.
std::optional<base::Bytes> short_delta(base::BytesView base, base::BytesView target, size_t bytes_max);

}  // namespace storage
