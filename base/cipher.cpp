#include "base/cipher.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <memory>

#include "base/error.h"

namespace base {
namespace {

constexpr size_t nonce_bytes = 12, tag_bytes = 16;
constexpr size_t step_max = 1 << 30;  // OpenSSL counts in int

const unsigned char* raw(const char* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}
unsigned char* raw(char* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}

// Looked up once: a look-up costs more than a small block.
const EVP_CIPHER* algorithm() {
  static const EVP_CIPHER* const found = EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr);
  return found;
}

[[noreturn]] void failed() {
  throw OperationError(ErrorCode::operation_failed, "bytes can't be encrypted: OpenSSL failed");
}

using Work = std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)>;

Work begin(const unsigned char* key, const unsigned char* nonce, int encrypts) {
  Work work(EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  if (!work || !algorithm() || EVP_CipherInit_ex2(work.get(), algorithm(), key, nonce, encrypts, nullptr) != 1) failed();
  return work;
}

void turn(EVP_CIPHER_CTX* work, BytesView from, char* to) {
  while (!from.empty()) {
    const size_t step = std::min(from.size(), step_max);
    int done = 0;
    if (EVP_CipherUpdate(work, raw(to), &done, raw(from.data()), static_cast<int>(step)) != 1) failed();
    from.remove_prefix(step);
    to += done;
  }
}

}  // namespace

Cipher::Cipher(BytesView key) {
  check(key.size() == key_bytes, "a key has 32 bytes");
  std::memcpy(key_.data(), key.data(), key_bytes);
}

Cipher::~Cipher() {
  OPENSSL_cleanse(key_.data(), key_.size());
}

void Cipher::seal(BytesView plain, char* out) const {
  if (RAND_bytes(raw(out), nonce_bytes) != 1) failed();
  const Work work = begin(key_.data(), raw(out), 1);
  turn(work.get(), plain, out + nonce_bytes);
  int none = 0;
  char* const tag = out + nonce_bytes + plain.size();
  if (EVP_CipherFinal_ex(work.get(), raw(tag), &none) != 1) failed();
  if (EVP_CIPHER_CTX_ctrl(work.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, tag) != 1) failed();
}

Bytes Cipher::seal(BytesView plain) const {
  Bytes sealed(plain.size() + overhead, '\0');
  seal(plain, sealed.data());
  return sealed;
}

bool Cipher::open(BytesView sealed, char* out) const {
  if (sealed.size() < overhead) return false;
  const Work work = begin(key_.data(), raw(sealed.data()), 0);
  turn(work.get(), sealed.substr(nonce_bytes, sealed.size() - overhead), out);
  Bytes tag(sealed.substr(sealed.size() - tag_bytes));
  if (EVP_CIPHER_CTX_ctrl(work.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) != 1) failed();
  int none = 0;
  unsigned char rest[16];
  return EVP_CipherFinal_ex(work.get(), rest, &none) == 1;
}

std::optional<Bytes> Cipher::open(BytesView sealed) const {
  if (sealed.size() < overhead) return std::nullopt;
  Bytes plain(sealed.size() - overhead, '\0');
  if (!open(sealed, plain.data())) return std::nullopt;
  return plain;
}

Bytes random_key(size_t bytes) {
  Bytes key(bytes, '\0');
  if (RAND_priv_bytes(raw(key.data()), static_cast<int>(bytes)) != 1) failed();
  return key;
}

Bytes derived_key(BytesView key, BytesView purpose) {
  Bytes made(Cipher::key_bytes, '\0');
  unsigned size = 0;
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), raw(purpose.data()), purpose.size(), raw(made.data()),
            &size) ||
      size != made.size())
    failed();
  return made;
}

}  // namespace base
