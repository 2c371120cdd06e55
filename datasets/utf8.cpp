#include "datasets/utf8.h"

#include <cstdint>

#include "base/utf8.h"

namespace datasets {

std::string to_utf8(std::string_view text) {
  if (base::is_utf8(text)) return std::string(text);
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
