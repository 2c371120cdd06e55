#include "server/wire/crc32c.h"

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#endif

namespace server::wire {
namespace {

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) ? 0x82f63b78u : 0);
    table[i] = value;
  }
  return table;
}

uint32_t by_table(base::BytesView bytes, uint32_t crc) {
  static constexpr auto table = make_table();
  for (char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t by_instruction(base::BytesView bytes, uint32_t crc) {
  uint64_t wide = crc;
  while (bytes.size() >= 8) {
    wide = _mm_crc32_u64(wide, base::load_le<uint64_t>(bytes.data()));
    bytes.remove_prefix(8);
  }
  crc = static_cast<uint32_t>(wide);
  for (char c : bytes) crc = _mm_crc32_u8(crc, static_cast<uint8_t>(c));
  return crc;
}
bool has_instruction() {
  return __builtin_cpu_supports("sse4.2");
}
#elif defined(__aarch64__)
__attribute__((target("+crc"))) uint32_t by_instruction(base::BytesView bytes, uint32_t crc) {
  while (bytes.size() >= 8) {
    crc = __crc32cd(crc, base::load_le<uint64_t>(bytes.data()));
    bytes.remove_prefix(8);
  }
  for (char c : bytes) crc = __crc32cb(crc, static_cast<uint8_t>(c));
  return crc;
}
bool has_instruction() {
  return getauxval(AT_HWCAP) & HWCAP_CRC32;
}
#else
uint32_t by_instruction(base::BytesView bytes, uint32_t crc) {
  return by_table(bytes, crc);
}
bool has_instruction() {
  return false;
}
#endif

}  // namespace

uint32_t crc32c(base::BytesView bytes, uint32_t before) {
  static const bool fast = has_instruction();
  return ~(fast ? by_instruction(bytes, ~before) : by_table(bytes, ~before));
}

uint32_t crc32c_by_table(base::BytesView bytes, uint32_t before) {
  return ~by_table(bytes, ~before);
}

}  // namespace server::wire
