// MD5 (RFC 1321), piece by piece. For filemd5, which GridFS clients of old ask for; never for security.
//
//   Md5 md5;
//   md5.append("mess");
//   md5.append("age");
//   md5.hex()             "78e731027d8fd50ed642340b7c9a63b3"
//
// state() saves an unfinished digest, and from_state() continues it. The saved bytes are:
//
//   bits (8, LE)   a b c d (4 each, LE)   the bytes of the block begun (64)
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace base {

class Md5 {
 public:
  static constexpr size_t state_bytes = 88;

  void append(BytesView bytes);
  // The digest of all bytes appended so far; more may be appended afterwards.
  std::string hex() const;

  Bytes state() const;
  // nullopt: `state` is no state.
  static std::optional<Md5> from_state(BytesView state);

 private:
  void digest_block(const char* block);
  size_t begun() const { return bits_ / 8 % 64; }

  uint64_t bits_ = 0;
  std::array<uint32_t, 4> sums_{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::array<char, 64> block_{};
};

}  // namespace base
