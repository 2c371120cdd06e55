#include "server/access/scram.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <charconv>
#include <map>

#include "base/cipher.h"
#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/md5.h"
#include "server/access/saslprep.h"

namespace server::access {
namespace {

using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;

constexpr size_t nonce_bytes = 24;
constexpr size_t message_bytes_max = 4096;
// A client refuses to be kept busy by more rounds, and by fewer to let somebody who only seems to be the server try passwords
// fast.
constexpr int client_iterations_min = 4096, iterations_max = 10'000'000;

[[noreturn]] void fail() {
  throw OperationError(ErrorCode::authentication_failed, "Authentication failed.");
}

const EVP_MD* digest_of(ScramHash hash) {
  return hash == ScramHash::sha1 ? EVP_sha1() : EVP_sha256();
}
size_t hash_bytes(ScramHash hash) {
  return hash == ScramHash::sha1 ? 20 : 32;
}
// MongoDB's salts are four bytes shorter than the hash, and so are these.
size_t salt_bytes(ScramHash hash) {
  return hash_bytes(hash) - 4;
}

void require(bool worked) {
  if (!worked) throw OperationError(ErrorCode::internal_error, "OpenSSL failed to compute a hash");
}

Bytes hmac(ScramHash hash, BytesView key, BytesView text) {
  Bytes out(hash_bytes(hash), '\0');
  unsigned length = 0;
  require(HMAC(digest_of(hash), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
               text.size(), reinterpret_cast<unsigned char*>(out.data()), &length));
  return out;
}

Bytes hashed(ScramHash hash, BytesView text) {
  Bytes out(hash_bytes(hash), '\0');
  require(EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(out.data()), nullptr, digest_of(hash), nullptr) ==
          1);
  return out;
}

Bytes salted(ScramHash hash, std::string_view secret, BytesView salt, int iterations) {
  Bytes out(hash_bytes(hash), '\0');
  require(PKCS5_PBKDF2_HMAC(secret.data(), static_cast<int>(secret.size()), reinterpret_cast<const unsigned char*>(salt.data()),
                            static_cast<int>(salt.size()), iterations, digest_of(hash), static_cast<int>(out.size()),
                            reinterpret_cast<unsigned char*>(out.data())) == 1);
  return out;
}

Bytes exclusive_or(Bytes a, BytesView b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<char>(a[i] ^ b[i]);
  return a;
}

bool equal(BytesView a, BytesView b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

// "n=ada,r=abc" as its parts; nullopt: a part isn't a letter, "=" and a value. Nothing may come twice.
std::optional<std::map<char, std::string_view>> attributes(std::string_view text) {
  std::map<char, std::string_view> out;
  while (!text.empty()) {
    const size_t end = text.find(',');
    const std::string_view part = text.substr(0, end);
    if (part.size() < 2 || part[1] != '=' || !out.emplace(part[0], part.substr(2)).second) return std::nullopt;
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return out;
}

// A name has "," and "=" as "=2C" and "=3D".
std::optional<std::string> decode_name(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') {
      out += text[i];
      continue;
    }
    const std::string_view code = text.substr(i + 1, 2);
    if (code == "2C")
      out += ',';
    else if (code == "3D")
      out += '=';
    else
      return std::nullopt;
    i += 2;
  }
  return out;
}

std::string encode_name(std::string_view name) {
  std::string out;
  for (const char c : name) c == ',' ? out += "=2C" : c == '=' ? out += "=3D" : out += c;
  return out;
}

Bytes client_key(ScramHash hash, BytesView salted_secret) {
  return hmac(hash, salted_secret, "Client Key");
}
Bytes server_key(ScramHash hash, BytesView salted_secret) {
  return hmac(hash, salted_secret, "Server Key");
}

// The salt that a user who doesn't exist seems to have: always the same one, until the server starts anew.
Bytes made_up_salt(ScramHash hash, const Name& user) {
  static const Bytes key = base::random_key(32);
  return hmac(hash, key, user.text()).substr(0, salt_bytes(hash));
}

class ScramConversation : public Conversation {
 public:
  ScramConversation(ScramHash hash, std::string db, bool skip_empty, FindCredentials find)
      : hash_(hash), skip_empty_(skip_empty), find_(std::move(find)), user_{{}, std::move(db)} {}

  const Name& user() const override { return user_; }
  std::string_view mechanism() const override { return mechanism_name(hash_); }

  Step step(BytesView message) override {
    if (message.size() > message_bytes_max) fail();
    switch (stage_++) {
      case 0: return first(message);
      case 1: return prove(message);
      case 2:
        if (skip_empty_ || !message.empty()) fail();
        return {{}, true};
      default: fail();
    }
  }

 private:
  Step first(BytesView message) {
    // "n,,": the client uses no channel binding, "y,,": it could; and it acts for nobody else.
    if (message.size() < 3 || (message[0] != 'n' && message[0] != 'y') || message[1] != ',') fail();
    const size_t header_end = message.find(',', 2);
    if (header_end == message.npos) fail();
    gs2_header_ = message.substr(0, header_end + 1);
    const std::string_view acts_for = std::string_view(gs2_header_).substr(2, header_end - 2);
    first_bare_ = message.substr(header_end + 1);
    const auto parts = attributes(first_bare_);
    if (!parts || !parts->contains('n') || !parts->contains('r') || parts->contains('m')) fail();
    const auto name = decode_name(parts->at('n'));
    if (!name || name->empty() || parts->at('r').empty()) fail();
    if (!acts_for.empty() && (!acts_for.starts_with("a=") || decode_name(acts_for.substr(2)) != name)) fail();
    user_.name = *name;
    nonce_ = std::string(parts->at('r')) + bson::base64_encode(base::random_key(nonce_bytes));
    known_ = find_(user_);
    if (known_.empty()) {
      ScramCredentials nobody;
      nobody.iterations = hash_ == ScramHash::sha1 ? scram_iterations_sha1 : scram_iterations_sha256;
      nobody.salt = made_up_salt(hash_, user_);
      nobody.stored_key = base::random_key(hash_bytes(hash_));
      nobody.server_key = base::random_key(hash_bytes(hash_));
      known_.push_back(std::move(nobody));
    }
    server_first_ = "r=" + nonce_ + ",s=" + bson::base64_encode(known_[0].salt) + ",i=" + std::to_string(known_[0].iterations);
    return {Bytes(server_first_), false};
  }

  Step prove(BytesView message) {
    const auto parts = attributes(message);
    const size_t at = message.rfind(",p=");
    if (!parts || at == message.npos || !parts->contains('c') || !parts->contains('r') || !parts->contains('p')) fail();
    const auto binding = bson::base64_decode(parts->at('c'));
    const auto proof = bson::base64_decode(parts->at('p'));
    if (!binding || *binding != gs2_header_ || parts->at('r') != nonce_ || !proof || proof->size() != hash_bytes(hash_)) fail();
    const std::string signed_text = first_bare_ + "," + server_first_ + "," + std::string(message.substr(0, at));
    for (const ScramCredentials& one : known_) {
      const Bytes key = exclusive_or(*proof, hmac(hash_, one.stored_key, signed_text));
      if (equal(hashed(hash_, key), one.stored_key))
        return {"v=" + bson::base64_encode(hmac(hash_, one.server_key, signed_text)), skip_empty_};
    }
    fail();
  }

  const ScramHash hash_;
  const bool skip_empty_;
  const FindCredentials find_;
  Name user_;
  int stage_ = 0;
  std::string gs2_header_, first_bare_, server_first_, nonce_;
  std::vector<ScramCredentials> known_;
};

}  // namespace

std::string_view mechanism_name(ScramHash hash) {
  return hash == ScramHash::sha1 ? "SCRAM-SHA-1" : "SCRAM-SHA-256";
}

std::optional<ScramHash> scram_hash(std::string_view mechanism) {
  if (mechanism == "SCRAM-SHA-1") return ScramHash::sha1;
  if (mechanism == "SCRAM-SHA-256") return ScramHash::sha256;
  return std::nullopt;
}

std::optional<std::string> scram_secret(ScramHash hash, std::string_view user, std::string_view password) {
  if (hash == ScramHash::sha256) return saslprep(password);
  bson::Md5 digest;
  digest.append(std::string(user) + ":mongo:" + std::string(password));
  return digest.hex();
}

Bytes sha256(BytesView text) {
  return hashed(ScramHash::sha256, text);
}

ScramCredentials make_scram_credentials(ScramHash hash, std::string_view secret, BytesView salt, int iterations) {
  const Bytes whole = salted(hash, secret, salt, iterations);
  return {iterations, Bytes(salt), hashed(hash, client_key(hash, whole)), server_key(hash, whole)};
}

ScramCredentials make_scram_credentials(ScramHash hash, std::string_view secret, int iterations) {
  return make_scram_credentials(hash, secret, base::random_key(salt_bytes(hash)), iterations);
}

bson::Document ScramCredentials::document() const {
  bson::Builder out;
  out.append("iterationCount", static_cast<int32_t>(iterations))
      .append("salt", bson::base64_encode(salt))
      .append("storedKey", bson::base64_encode(stored_key))
      .append("serverKey", bson::base64_encode(server_key));
  return out.done();
}

std::optional<ScramCredentials> ScramCredentials::parse(bson::DocumentView document) {
  ScramCredentials out;
  const auto count = document.find("iterationCount");
  if (!count.is_number()) return std::nullopt;
  const int64_t iterations = count.to_int64();
  if (iterations < 1 || iterations > iterations_max) return std::nullopt;
  out.iterations = static_cast<int>(iterations);
  for (const auto& [name, field] :
       {std::pair("salt", &ScramCredentials::salt), std::pair("storedKey", &ScramCredentials::stored_key),
        std::pair("serverKey", &ScramCredentials::server_key)}) {
    const auto text = document.find(name);
    auto bytes = text.is_string() ? bson::base64_decode(text.as_string()) : std::nullopt;
    if (!bytes || bytes->empty()) return std::nullopt;
    out.*field = std::move(*bytes);
  }
  return out;
}

std::unique_ptr<Conversation> make_scram_conversation(ScramHash hash, std::string db, bool skip_empty_exchange,
                                                      FindCredentials find) {
  return std::make_unique<ScramConversation>(hash, std::move(db), skip_empty_exchange, std::move(find));
}

ScramClient::ScramClient(ScramHash hash, std::string user, std::string secret)
    : hash_(hash),
      user_(std::move(user)),
      secret_(std::move(secret)),
      nonce_(bson::base64_encode(base::random_key(nonce_bytes))) {}

Bytes ScramClient::first() {
  first_bare_ = "n=" + encode_name(user_) + ",r=" + nonce_;
  return "n,," + first_bare_;
}

Bytes ScramClient::proof(BytesView server_first) {
  const auto parts = attributes(server_first);
  if (!parts || !parts->contains('r') || !parts->contains('s') || !parts->contains('i')) fail();
  const std::string_view nonce = parts->at('r'), count = parts->at('i');
  const auto salt = bson::base64_decode(parts->at('s'));
  int iterations = 0;
  const auto [end, error] = std::from_chars(count.data(), count.data() + count.size(), iterations);
  if (!nonce.starts_with(nonce_) || nonce.size() == nonce_.size() || !salt || error != std::errc() ||
      end != count.data() + count.size() || iterations < client_iterations_min || iterations > iterations_max) {
    fail();
  }
  const Bytes whole = salted(hash_, secret_, *salt, iterations);
  const std::string without_proof = "c=biws,r=" + std::string(nonce);
  const std::string signed_text = first_bare_ + "," + std::string(server_first) + "," + without_proof;
  const Bytes key = client_key(hash_, whole);
  signature_ = hmac(hash_, server_key(hash_, whole), signed_text);
  return without_proof + ",p=" + bson::base64_encode(exclusive_or(key, hmac(hash_, hashed(hash_, key), signed_text)));
}

void ScramClient::check(BytesView server_final) const {
  const auto parts = attributes(server_final);
  const auto signature = parts && parts->contains('v') ? bson::base64_decode(parts->at('v')) : std::nullopt;
  if (!signature || !equal(*signature, signature_)) fail();
}

}  // namespace server::access
