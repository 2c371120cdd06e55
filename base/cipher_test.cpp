#include "base/cipher.h"

#include <catch2/catch.hpp>

namespace base {

TEST_CASE("what was sealed opens with the same key alone, and unchanged") {
  const Cipher cipher(random_key(Cipher::key_bytes)), other(random_key(Cipher::key_bytes));
  for (const size_t size : {size_t{0}, size_t{1}, size_t{15}, size_t{16}, size_t{1000}, size_t{1} << 20}) {
    const Bytes plain = size == 0 ? Bytes() : random_key(size);
    Bytes sealed = cipher.seal(plain);
    CHECK(sealed.size() == plain.size() + Cipher::overhead);
    CHECK(cipher.open(sealed) == plain);
    CHECK_FALSE(other.open(sealed));
    for (const size_t at : {size_t{0}, size_t{12}, sealed.size() - 1}) {
      sealed[at] = static_cast<char>(sealed[at] ^ 1);
      CHECK_FALSE(cipher.open(sealed));
      sealed[at] = static_cast<char>(sealed[at] ^ 1);
    }
  }
  CHECK_FALSE(cipher.open(Bytes(Cipher::overhead - 1, 'x')));
}

TEST_CASE("the same bytes are sealed differently each time") {
  const Cipher cipher(random_key(Cipher::key_bytes));
  CHECK(cipher.seal("the same") != cipher.seal("the same"));
}

TEST_CASE("keys for different purposes differ") {
  const Bytes key = random_key(Cipher::key_bytes);
  CHECK(derived_key(key, "pages") == derived_key(key, "pages"));
  CHECK(derived_key(key, "pages") != derived_key(key, "files"));
}

}  // namespace base
