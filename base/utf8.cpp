#include "base/utf8.h"

#include "base/bytes.h"

namespace base {
namespace {

// `at` is before `end`.
[[gnu::always_inline]] inline size_t character(const uint8_t* at, const uint8_t* end) {
  const uint8_t first = *at++;
  if (first < 0x80) return 1;
  // The second byte's range rules out overlong forms, surrogates and what lies beyond U+10FFFF.
  int more = 0;
  uint8_t low = 0x80, high = 0xbf;
  if (first >= 0xc2 && first <= 0xdf)
    more = 1;
  else if (first >= 0xe0 && first <= 0xef)
    more = 2;
  else if (first >= 0xf0 && first <= 0xf4)
    more = 3;
  else
    return 0;
  if (first == 0xe0) low = 0xa0;
  if (first == 0xed) high = 0x9f;
  if (first == 0xf0) low = 0x90;
  if (first == 0xf4) high = 0x8f;
  if (end - at < more || *at < low || *at > high) return 0;
  for (int i = 1; i < more; ++i) {
    if ((at[i] & 0xc0) != 0x80) return 0;
  }
  return 1 + static_cast<size_t>(more);
}

}  // namespace

size_t utf8_bytes(std::string_view text) {
  const auto* at = reinterpret_cast<const uint8_t*>(text.data());
  return text.empty() ? 0 : character(at, at + text.size());
}

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const uint8_t*>(text.data());
  const auto* end = at + text.size();
  while (at < end) {
    if (end - at >= 8 && (load_le<uint64_t>(at) & 0x8080808080808080u) == 0) {
      at += 8;
      continue;
    }
    const size_t bytes = character(at, end);
    if (bytes == 0) return false;
    at += bytes;
  }
  return true;
}

}  // namespace base
