#include "storage/contents/short_delta.h"

#include "dedup/delta.h"

namespace storage {

std::optional<base::Bytes> short_delta(base::BytesView base, base::BytesView target, size_t bytes_max) {
  dedup::DeltaOptions options;
  options.literal_bytes_max = bytes_max;
  auto delta = dedup::encode(base, target, options);
  if (!delta || delta->size() > bytes_max || !dedup::makes(base, *delta, target)) return std::nullopt;
  return delta;
}

}  // namespace storage
