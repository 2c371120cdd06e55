// Logins lets clients log in: by SCRAM, or by the certificate that their TLS connection showed.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "server/access/conversation.h"
#include "server/access/scram.h"
#include "server/users/users.h"

namespace server {
class Audit;
class Client;
class OperationContext;
struct Options;
}  // namespace server

namespace server::users {

// Settings that clients read and change by name.
struct LoginSettings {
  std::atomic<int64_t> iterations_sha1{access::scram_iterations_sha1};      // scramIterationCount
  std::atomic<int64_t> iterations_sha256{access::scram_iterations_sha256};  // scramSHA256IterationCount
  std::atomic<int64_t> failed_delay_ms{0};                                  // authFailedDelayMs
  std::atomic<bool> localhost_bypass{true};                                 // enableLocalhostAuthBypass
};

// This class is thread-safe. What belongs to a client is used by its own operation alone.
class Logins {
 public:
  static constexpr int32_t conversation_id = 1;

  // `users`: nullptr on a member that keeps no data. `keys`: of the members of the set, the one to send first; empty: none.
  Logins(const Options& options, base::Clock& clock, Users* users, Audit* audit, const std::vector<std::string>& keys);
  ~Logins();

  Users* users() const { return users_; }
  LoginSettings& settings() { return settings_; }
  // `subject` returns that of the server's own certificate: members have one of the same organization. Set before the first
  // connection.
  void set_own_subject(std::function<std::string()> subject) { own_subject_ = std::move(subject); }
  // Clients may use these mechanisms alone, as the parameter authenticationMechanisms says. Set before the first connection.
  void set_mechanisms(std::vector<std::string> mechanisms) { mechanisms_ = std::move(mechanisms); }
  const std::vector<std::string>& mechanisms() const { return mechanisms_; }
  bool offers(std::string_view mechanism) const;

  struct Start {
    std::string_view db, mechanism;
    base::BytesView payload;
    bool skip_empty_exchange = false;
    bool speculative = false;  // it came with a hello
  };
  // Throws MechanismUnavailable (334), AuthenticationFailed (18), ProtocolError (17).
  access::Conversation::Step start(Client& client, const Start& start);
  // Throws AuthenticationFailed, ProtocolError.
  access::Conversation::Step go_on(Client& client, int64_t conversation, base::BytesView payload);
  // The client logs in as the subject of its certificate, on $external. `user`: empty, or the same. Returns the user.
  Name by_certificate(Client& client, std::string_view user, bool speculative);
  // Nobody is logged in on the connection any more.
  void log_out(Client& client);

  // Returns how long the answer to a failure is to be held back.
  int64_t delay_ms(const Client& client) const;

  // Returns what users of this name may prove themselves with. One who doesn't exist seems to have all.
  std::vector<std::string> mechanisms_of(const Name& name) const;

  // Gives the client what its user may do now, if users have changed.
  void refresh(Client& client) const;
  // Returns what a client may do who hasn't logged in: while there are no users, one on this machine may make the first.
  // nullptr: nothing. An arbiter never has users.
  access::AuthorityPtr without_login(const Client& client, bool arbiter) const;

 private:
  class Failures;

  bool is_member(const std::string& subject) const;
  std::vector<access::ScramCredentials> credentials(access::ScramHash hash, const Name& user) const;
  void logged_in(Client& client, const Name& user, std::string_view mechanism, bool speculative);
  void failed(Client& client, const Name& user, std::string_view mechanism, bool speculative, base::ErrorCode code,
              const std::string& why);
  template <class Work>
  auto guarded(Client& client, std::string_view mechanism, bool speculative, const Name& claimed, Work&& work);

  const Options& options_;
  Users* const users_;
  Audit* const audit_;
  LoginSettings settings_;
  std::function<std::string()> own_subject_;
  std::vector<std::string> mechanisms_{"SCRAM-SHA-1", "SCRAM-SHA-256", "MONGODB-X509"};
  std::vector<access::ScramCredentials> system_sha1_, system_sha256_;
  std::unique_ptr<Failures> failures_;
  struct Counts {
    std::atomic<int64_t> received{0}, successful{0};
  };

 public:
  // serverStatus shows these counts by mechanism.
  struct MechanismCounts {
    std::string mechanism;
    int64_t received = 0, successful = 0, speculative_received = 0, speculative_successful = 0;
  };
  std::vector<MechanismCounts> counts() const;

 private:
  struct Counted {
    Counts all, speculative;
  };
  mutable std::map<std::string, Counted, std::less<>> counted_;  // filled at the start; its values are atomic
};

}  // namespace server::users
