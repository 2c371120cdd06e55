#include "versions/branch/digest.h"

#include <openssl/evp.h>

#include <memory>

#include "base/error.h"
#include "base/varint.h"

namespace versions {

// The one-shot call looks its algorithm up each time, which takes as long as to hash a document.
Hash sha256(BytesView bytes) {
  static const std::unique_ptr<EVP_MD, decltype(&EVP_MD_free)> algorithm{EVP_MD_fetch(nullptr, "SHA256", nullptr), EVP_MD_free};
  thread_local const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context{EVP_MD_CTX_new(), EVP_MD_CTX_free};
  Hash hash;
  const bool made = EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) == 1 && EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) == 1;
  base::check(made, "SHA-256 is there");
  return hash;
}

SetDigest& SetDigest::operator+=(const SetDigest& other) {
  unsigned __int128 carry = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    carry += static_cast<unsigned __int128>(words[i]) + other.words[i];
    words[i] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return *this;
}

SetDigest& SetDigest::operator-=(const SetDigest& other) {
  uint64_t borrow = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const unsigned __int128 taken = static_cast<unsigned __int128>(other.words[i]) + borrow;
    borrow = words[i] < taken ? 1 : 0;
    words[i] -= static_cast<uint64_t>(taken);
  }
  return *this;
}

SetDigest digest_of(BytesView key, BytesView content) {
  Bytes bytes;
  bytes.reserve(key.size() + content.size() + 5);
  base::append_varint(bytes, key.size());
  bytes.append(key).append(content);
  return read_digest(view(sha256(bytes)));
}

Bytes write_digest(const SetDigest& digest) {
  Bytes out;
  for (const uint64_t word : digest.words) base::append_le(out, word);
  return out;
}

SetDigest read_digest(BytesView bytes) {
  base::check(bytes.size() == 32, "a digest of 32 bytes");
  SetDigest digest;
  for (size_t i = 0; i < digest.words.size(); ++i) digest.words[i] = base::load_le<uint64_t>(bytes.data() + 8 * i);
  return digest;
}

}  // namespace versions
