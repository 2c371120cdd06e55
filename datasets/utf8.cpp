#include "datasets/utf8.h"

#include "base/bytes.h"

namespace datasets {

bool is_utf8(std::string_view text) {
  const auto* at = reinterpret_cast<const uint8_t*>(text.data());
  const auto* end = at + text.size();
  auto continues = [&](int i) { return (at[i] & 0xc0) == 0x80; };
  while (at < end) {
    if (end - at >= 8 && (base::load_le<uint64_t>(at) & 0x8080808080808080ull) == 0) {
      at += 8;
      continue;
    }
    const uint8_t lead = *at;
    if (lead < 0x80) {
      ++at;
    } else if (lead >= 0xc2 && lead < 0xe0) {
      if (end - at < 2 || !continues(1)) return false;
      at += 2;
    } else if (lead >= 0xe0 && lead < 0xf0) {
      if (end - at < 3 || !continues(1) || !continues(2)) return false;
      if ((lead == 0xe0 && at[1] < 0xa0) || (lead == 0xed && at[1] >= 0xa0)) return false;  // overlong, surrogates
      at += 3;
    } else if (lead >= 0xf0 && lead < 0xf5) {
      if (end - at < 4 || !continues(1) || !continues(2) || !continues(3)) return false;
      if ((lead == 0xf0 && at[1] < 0x90) || (lead == 0xf4 && at[1] >= 0x90)) return false;
      at += 4;
    } else {
      return false;
    }
  }
  return true;
}

std::string to_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x80) {
      out.push_back(c);
    } else {
      out.push_back(static_cast<char>(0xc0 | (byte >> 6)));
      out.push_back(static_cast<char>(0x80 | (byte & 0x3f)));
    }
  }
  return out;
}

}  // namespace datasets
