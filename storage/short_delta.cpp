#include "storage/short_delta.h"

#include <utility>

#include "dedup/delta.h"

namespace storage {

std::optional<base::Bytes> short_delta(base::BytesView base, base::BytesView target, size_t bytes_max) {
  dedup::DeltaOptions options;
  options.literal_bytes_max = bytes_max;
  auto delta = dedup::encode(base, target, options);
  if (!delta || delta->size() > bytes_max) return std::nullopt;
  const auto made = dedup::apply(base, *delta, {.output_bytes_max = target.size()});
  return made.ok() && made.value() == target ? std::move(delta) : std::nullopt;
}

}  // namespace storage
