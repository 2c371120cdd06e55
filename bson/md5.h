// Md5 computes MD5 (RFC 1321) piece by piece, by libbson. The command filemd5, which old clients of GridFS send, and hashed
// indexes need it, as MongoDB makes their keys with it; nothing here relies on its strength.
//
//   Md5 md5;
//   md5.append("mess");
//   md5.append("age");
//   md5.hex()             "78e731027d8fd50ed642340b7c9a63b3"
//
// state() saves an unfinished digest, and from_state() continues it. The saved bytes are those of libbson's struct:
//
//   bits (8, LE)   a b c d (4 each, LE)   the bytes of the block begun (64)
#pragma once

#include <bson/bson.h>

#include <array>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace bson {

class Md5 {
 public:
  static constexpr size_t state_bytes = sizeof(bson_md5_t);

  Md5();
  void append(base::BytesView bytes);
  // Returns the digest of all bytes appended so far; more may be appended afterwards.
  std::array<uint8_t, 16> digest() const;
  std::string hex() const;

  base::Bytes state() const;
  // Returns nullopt when `state` is no state.
  static std::optional<Md5> from_state(base::BytesView state);

 private:
  bson_md5_t state_;
};

}  // namespace bson
