// A delta that may take a content's place: short, and tried.
#pragma once

#include <optional>

#include "base/bytes.h"

namespace storage {

// What makes `target` out of `base`; nullopt where that would take more than so many bytes. Thread-safe.
std::optional<base::Bytes> short_delta(base::BytesView base, base::BytesView target, size_t bytes_max);

}  // namespace storage
