// A cipher seals bytes with AES-256-GCM: whoever lacks the key neither reads them nor changes them unnoticed.
//
//   sealed  | nonce, 12 random bytes | as many bytes as were plain | tag, 16 |
//
// A nonce must not come twice under one key. They are random, and after 2^32 pieces under one key the chance that two are equal
// is still below one in four billion.
#pragma once

#include <array>
#include <optional>

#include "base/bytes.h"

namespace base {

// Thread-safe.
class Cipher {
 public:
  static constexpr size_t key_bytes = 32;
  static constexpr size_t overhead = 12 + 16;

  explicit Cipher(BytesView key);  // of key_bytes
  ~Cipher();
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;

  // `out` has room for the plain bytes and the overhead. Throws OperationError if the machine has no randomness or memory.
  void seal(BytesView plain, char* out) const;
  Bytes seal(BytesView plain) const;
  // `out` has room for the sealed bytes without the overhead. Returns false if the bytes were changed, or sealed with another
  // key.
  bool open(BytesView sealed, char* out) const;
  std::optional<Bytes> open(BytesView sealed) const;

 private:
  std::array<unsigned char, key_bytes> key_;
};

// Returns bytes that nobody can guess. Throws OperationError if the machine has no randomness.
Bytes random_key(size_t bytes);
// Returns a key for one purpose that says nothing about the key that it is made from: HMAC-SHA-256 of the purpose.
Bytes derived_key(BytesView key, BytesView purpose);

}  // namespace base
