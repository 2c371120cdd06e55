#include "dedup/chunker.h"

#include <array>
#include <bit>

#include "base/random.h"
#include "dedup/rolling_hash.h"

namespace dedup {

namespace {

constexpr size_t rabin_window = 48;
constexpr RabinTables rabin(rabin_window);

// A byte's number leaves the 64-bit sum after 64 shifts, which makes the window without further work.
const std::array<uint64_t, 256> gear = [] {
  std::array<uint64_t, 256> numbers;
  base::Random random(0x70616c696d707365);
  for (auto& number : numbers) number = random();
  return numbers;
}();

struct Sizes {
  size_t min, max;
  uint64_t mask;
};

size_t next_gear(const uint8_t* p, size_t bytes, const Sizes& sizes) {
  if (bytes <= sizes.min) return bytes;
  const size_t end = std::min(bytes, sizes.max);
  // The high bits depend on the most bytes.
  const uint64_t mask = sizes.mask << (64 - std::bit_width(sizes.mask));
  uint64_t hash = 0;
  for (size_t i = sizes.min > 16 ? sizes.min - 16 : 0; i < end; ++i) {
    hash = (hash << 1) + gear[p[i]];
    if (i + 1 > sizes.min && (hash & mask) == 0) return i + 1;
  }
  return end;
}

}  // namespace

std::vector<size_t> cut(BytesView content, ChunkMethod method, uint32_t average_bytes) {
  const Sizes sizes{average_bytes / 4, size_t{average_bytes} * 4, average_bytes - 1};
  const auto* p = base::as_u8(content);
  std::vector<size_t> ends;
  ends.reserve(content.size() / average_bytes + 1);
  size_t start = 0;
  if (method == ChunkMethod::gear) {
    while (start < content.size()) ends.push_back(start += next_gear(p + start, content.size() - start, sizes));
    return ends;
  }
  uint64_t hash = 0;
  for (size_t i = 0; i < content.size(); ++i) {
    hash = i < rabin_window ? rabin.push(hash, p[i]) : rabin.slide(hash, p[i - rabin_window], p[i]);
    const size_t bytes = i + 1 - start;
    if (bytes >= sizes.max || (bytes > sizes.min && (hash & sizes.mask) == sizes.mask)) ends.push_back(start = i + 1);
  }
  if (start < content.size()) ends.push_back(content.size());
  return ends;
}

}  // namespace dedup
