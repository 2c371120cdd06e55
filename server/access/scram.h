// SCRAM proves that a client knows a password without sending it (RFC 5802; with SHA-256: RFC 7677).
//
//   client                                 server
//   n,,n=ada,r=NONCE               ->
//                                  <-      r=NONCE+OURS,s=SALT,i=15000
//   c=biws,r=NONCE+OURS,p=PROOF    ->
//                                  <-      v=SIGNATURE
//
// A user who doesn't exist gets a salt like anybody else's, and fails with the proof: so nobody learns who exists.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bson/document.h"
#include "server/access/conversation.h"

namespace server::access {

enum class ScramHash { sha1, sha256 };
std::string_view mechanism_name(ScramHash hash);  // "SCRAM-SHA-1", "SCRAM-SHA-256"
std::optional<ScramHash> scram_hash(std::string_view mechanism);

inline constexpr int scram_iterations_sha1 = 10'000, scram_iterations_sha256 = 15'000;
inline constexpr int scram_iterations_min = 5000;

// ScramCredentials are stored in place of a password.
struct ScramCredentials {
  int iterations = 0;
  base::Bytes salt, stored_key, server_key;

  // {iterationCount, salt, storedKey, serverKey}, in base64.
  bson::Document document() const;
  static std::optional<ScramCredentials> parse(bson::DocumentView document);  // nullopt: it is none of this hash's
};

base::Bytes sha256(base::BytesView text);
// Returns the text that is hashed: for SHA-1 MongoDB's MD5 digest of name and password, for SHA-256 the normalized password.
// nullopt: a password that SASLprep refuses.
std::optional<std::string> scram_secret(ScramHash hash, std::string_view user, std::string_view password);
ScramCredentials make_scram_credentials(ScramHash hash, std::string_view secret, base::BytesView salt, int iterations);
// Makes credentials with a new random salt.
ScramCredentials make_scram_credentials(ScramHash hash, std::string_view secret, int iterations);

// The server's side. `find` returns a user's credentials, which have one salt and count of iterations; any of them will do. An
// empty list: there is no such user.
using FindCredentials = std::function<std::vector<ScramCredentials>(const Name& user)>;
std::unique_ptr<Conversation> make_scram_conversation(ScramHash hash, std::string db, bool skip_empty_exchange,
                                                      FindCredentials find);

// The client's side, for members that log in to each other. `secret`: see scram_secret.
class ScramClient {
 public:
  ScramClient(ScramHash hash, std::string user, std::string secret);
  base::Bytes first();
  // Throws AuthenticationFailed if the server's message isn't sound.
  base::Bytes proof(base::BytesView server_first);
  void check(base::BytesView server_final) const;

 private:
  ScramHash hash_;
  std::string user_, secret_, nonce_;
  std::string first_bare_;
  base::Bytes signature_;
};

}  // namespace server::access
