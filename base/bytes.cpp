#include "base/bytes.h"

namespace base {

Bytes to_hex(BytesView bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  Bytes out;
  out.reserve(bytes.size() * 2);
  for (unsigned char byte : bytes) {
    out.push_back(digits[byte >> 4]);
    out.push_back(digits[byte & 15]);
  }
  return out;
}

}  // namespace base
