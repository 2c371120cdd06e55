// Input: one byte n, n bytes of source, the rest a delta. And the same bytes as
// two contents, encoded and brought back.
#include <cstdlib>

#include "dedup/delta.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dedup;
  if (size == 0) return 0;
  const BytesView input(reinterpret_cast<const char*>(data + 1), size - 1);
  const BytesView source = input.substr(0, data[0]);
  const BytesView rest = input.substr(source.size());
  const auto made = dedup::apply(source, rest, {.output_bytes_max = 1 << 20});
  if (made.ok() && made.value().size() > 1 << 20) std::abort();

  for (const auto& options : {DeltaOptions{}, DeltaOptions{.method = DeltaMethod::anchors, .anchor_interval = 16}}) {
    const auto both = encode_two_way(source, rest, options);
    if (!both || dedup::apply(source, both->forward).value() != rest) std::abort();
    if (dedup::apply(rest, both->backward).value() != source) std::abort();
  }
  return 0;
}
