// Input: a packed text. And the same bytes as a text, packed and brought back.
#include <cstdlib>

#include "dedup/block_sorting.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace dedup;
  const BytesView input(reinterpret_cast<const char*>(data), size);
  constexpr size_t text_bytes_max = 1 << 16;
  if (const auto text = sort_unpack(input, text_bytes_max); text && text->size() > text_bytes_max) std::abort();
  if (sort_unpack(sort_pack(input), size) != Bytes(input)) std::abort();
  return 0;
}
