#include "server/users/login.h"

#include <algorithm>

#include "base/cipher.h"
#include "base/error.h"
#include "base/log.h"
#include "bson/builder.h"
#include "server/core/audit.h"
#include "server/core/client.h"
#include "server/core/options.h"
#include "server/users/subject.h"

namespace server::users {

using access::ScramHash;
using base::Attributes;
using base::ErrorCode;
using base::LogComponent;
using base::OperationError;
using base::Severity;

namespace {

constexpr auto mechanism_unavailable = static_cast<ErrorCode>(334);
constexpr char x509[] = "MONGODB-X509";
constexpr int64_t forgotten_after_us = 60'000'000;
constexpr int free_failures = 3;
constexpr int64_t first_delay_ms = 100, delay_max_ms = 3000;
constexpr size_t addresses_max = 4096;

[[noreturn]] void fail() {
  throw OperationError(ErrorCode::authentication_failed, "Authentication failed.");
}

bool is_local(const Client& client) {
  if (client.is_unix_socket()) return true;
  const std::string address = remote_address(client);
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

// While there are no users, somebody has to make the first; and a set has to be configured before it can keep one.
access::AuthorityPtr first_steps(bool arbiter) {
  using enum access::Action;
  auto made = std::make_shared<access::Authority>();
  for (const char* db : {"admin", external_db})
    made->privileges.add({{access::ResourcePattern::Kind::names, db, {}}, {createUser, createRole, grantRole}});
  access::ActionSet actions{addShard, replSetConfigure, replSetGetStatus};
  if (arbiter) actions.add({getCmdLineOpts, getParameter, serverStatus, shutdown});
  made->privileges.add({{access::ResourcePattern::Kind::cluster, {}, {}}, actions});
  return made;
}

}  // namespace

// Logins from an address that failed more than a few times in a minute wait longer and longer.
class Logins::Failures {
 public:
  explicit Failures(base::Clock& clock) : clock_(clock) {}

  void add(const std::string& address) {
    const base::MutexLock lock(mutex_);
    if (failed_.size() >= addresses_max) forget_old();
    if (failed_.size() >= addresses_max) failed_.clear();
    Entry& entry = failed_[address];
    const int64_t now = clock_.monotonic_us();
    if (now - entry.last_us > forgotten_after_us) entry.count = 0;
    ++entry.count;
    entry.last_us = now;
  }
  void succeed(const std::string& address) {
    const base::MutexLock lock(mutex_);
    failed_.erase(address);
  }
  int64_t delay_ms(const std::string& address) const {
    const base::MutexLock lock(mutex_);
    const auto found = failed_.find(address);
    if (found == failed_.end() || found->second.count <= free_failures) return 0;
    return std::min(delay_max_ms, first_delay_ms << std::min(found->second.count - free_failures - 1, 10));
  }

 private:
  struct Entry {
    int count = 0;
    int64_t last_us = 0;
  };
  void forget_old() REQUIRES(mutex_) {
    const int64_t now = clock_.monotonic_us();
    std::erase_if(failed_, [&](const auto& one) { return now - one.second.last_us > forgotten_after_us; });
  }

  base::Clock& clock_;
  mutable base::Mutex mutex_;
  std::map<std::string, Entry> failed_ GUARDED_BY(mutex_);
};

Logins::Logins(const Options& options, base::Clock& clock, Users* users, Audit* audit, const std::vector<std::string>& keys)
    : options_(options), users_(users), audit_(audit), failures_(std::make_unique<Failures>(clock)) {
  // All keys share a salt, since a client hears of one.
  for (const ScramHash hash : {ScramHash::sha1, ScramHash::sha256}) {
    const base::Bytes salt = base::random_key(hash == ScramHash::sha1 ? 16 : 28);
    const int count = hash == ScramHash::sha1 ? access::scram_iterations_sha1 : access::scram_iterations_sha256;
    for (const std::string& key : keys) {
      const auto secret = access::scram_secret(hash, access::system_user, key);
      (hash == ScramHash::sha1 ? system_sha1_ : system_sha256_)
          .push_back(access::make_scram_credentials(hash, secret.value_or(key), salt, count));
    }
  }
  for (const std::string& mechanism : mechanisms_) counted_[mechanism];
}

Logins::~Logins() = default;

bool Logins::offers(std::string_view mechanism) const {
  return std::find(mechanisms_.begin(), mechanisms_.end(), mechanism) != mechanisms_.end();
}

bool Logins::is_member(const std::string& subject) const {
  return options_.cluster_auth != Options::ClusterAuth::key_file && own_subject_ && same_organization(subject, own_subject_());
}

std::vector<access::ScramCredentials> Logins::credentials(ScramHash hash, const Name& name) const {
  if (name == access::internal_authority()->user && options_.cluster_auth == Options::ClusterAuth::x509) return {};
  if (name == access::internal_authority()->user) return hash == ScramHash::sha1 ? system_sha1_ : system_sha256_;
  const auto user = users_ ? users_->find(name) : std::nullopt;
  if (!user) return {};
  return hash == ScramHash::sha1 ? user->sha1 : user->sha256;
}

template <class Work>
auto Logins::guarded(Client& client, std::string_view mechanism, bool speculative, const Name& claimed, Work&& work) {
  try {
    return work();
  } catch (const OperationError& error) {
    Name user = client.conversation && !client.conversation->user().name.empty() ? client.conversation->user() : claimed;
    client.conversation.reset();
    failed(client, user, mechanism, speculative, error.code(), error.what());
    if (error.code() == ErrorCode::authentication_failed || error.code() == ErrorCode::protocol_error ||
        error.code() == mechanism_unavailable) {
      throw;
    }
    fail();  // what went wrong is in the log; it is nothing for who isn't known yet
  }
}

access::Conversation::Step Logins::start(Client& client, const Start& start) {
  client.conversation.reset();
  const auto hash = access::scram_hash(start.mechanism);
  if (start.mechanism == x509)
    throw OperationError(ErrorCode::bad_value, "MONGODB-X509 logs in by the command authenticate, not by saslStart");
  if (!hash || !offers(start.mechanism)) {
    throw OperationError(mechanism_unavailable, "Received authentication for mechanism " + std::string(start.mechanism) +
                                                    " which is unknown or not enabled");
  }
  Counted& counts = counted_.find(start.mechanism)->second;
  counts.all.received.fetch_add(1, std::memory_order_relaxed);
  if (start.speculative) counts.speculative.received.fetch_add(1, std::memory_order_relaxed);
  client.speculative = start.speculative;
  auto step = guarded(client, start.mechanism, start.speculative, {{}, std::string(start.db)}, [&] {
    client.conversation = access::make_scram_conversation(*hash, std::string(start.db), start.skip_empty_exchange,
                                                          [this, hash](const Name& user) { return credentials(*hash, user); });
    return client.conversation->step(start.payload);
  });
  if (start.speculative) {
    // The driver guessed the mechanism. A user who has another one logs in by that, which is no failure; without this answer
    // the driver would go on with a conversation that can't end well.
    const std::vector<std::string> usable = mechanisms_of(client.conversation->user());
    if (std::find(usable.begin(), usable.end(), start.mechanism) == usable.end()) {
      client.conversation.reset();
      throw OperationError(mechanism_unavailable, "the user has no credentials for " + std::string(start.mechanism));
    }
  }
  return step;
}

access::Conversation::Step Logins::go_on(Client& client, int64_t conversation, base::BytesView payload) {
  if (!client.conversation) throw OperationError(ErrorCode::protocol_error, "No SASL session state found");
  if (conversation != conversation_id) {
    client.conversation.reset();
    throw OperationError(ErrorCode::protocol_error, "sasl: Mismatched conversation id");
  }
  const std::string mechanism(client.conversation->mechanism());
  return guarded(client, mechanism, client.speculative, {}, [&] {
    const access::Conversation::Step step = client.conversation->step(payload);
    if (step.done) {
      const Name user = client.conversation->user();
      logged_in(client, user, mechanism, client.speculative);
      client.conversation.reset();
    }
    return step;
  });
}

Name Logins::by_certificate(Client& client, std::string_view user, bool speculative) {
  if (!offers(x509))
    throw OperationError(mechanism_unavailable,
                         "Received authentication for mechanism MONGODB-X509 which is unknown or not enabled");
  Counted& counts = counted_.find(x509)->second;
  counts.all.received.fetch_add(1, std::memory_order_relaxed);
  if (speculative) counts.speculative.received.fetch_add(1, std::memory_order_relaxed);
  const Name name{client.tls_subject.value_or(std::string(user)), external_db};
  return guarded(client, x509, speculative, name, [&] {
    if (!client.tls_subject)
      throw OperationError(ErrorCode::authentication_failed, "No verified subject name available from client");
    if (!user.empty() && user != *client.tls_subject) {
      throw OperationError(ErrorCode::authentication_failed, "There is no x.509 client certificate matching the user.");
    }
    logged_in(client, is_member(*client.tls_subject) ? access::internal_authority()->user : name, x509, speculative);
    return name;
  });
}

void Logins::logged_in(Client& client, const Name& user, std::string_view mechanism, bool speculative) {
  access::AuthorityPtr authority;
  const uint64_t generation = users_ ? users_->generation() : 0;
  if (user == access::internal_authority()->user)
    authority = access::internal_authority();
  else
    authority = users_ ? users_->authority(user, client) : nullptr;
  if (!authority) fail();
  client.set_authority(authority, generation);
  failures_->succeed(remote_address(client));
  Counted& counts = counted_.find(mechanism)->second;
  counts.all.successful.fetch_add(1, std::memory_order_relaxed);
  if (speculative) counts.speculative.successful.fetch_add(1, std::memory_order_relaxed);
  if (!authority->internal && !base::log_quiet()) {
    base::log(Severity::info, LogComponent::access, 5286306, "Successfully authenticated",
              Attributes()
                  .add("client", client.remote())
                  .add("isSpeculative", speculative)
                  .add("mechanism", mechanism)
                  .add("user", user.name)
                  .add("db", user.db));
  }
  if (audit_) {
    bson::Builder param;
    param.append("user", user.name).append("db", user.db).append("mechanism", mechanism);
    audit_->record("authenticate", &client, param.done(), ErrorCode::ok);
  }
}

void Logins::failed(Client& client, const Name& user, std::string_view mechanism, bool speculative, ErrorCode code,
                    const std::string& why) {
  // A driver that speaks no further after a speculative start has failed at nothing.
  if (code == ErrorCode::authentication_failed || code == ErrorCode::protocol_error) failures_->add(remote_address(client));
  base::log(Severity::info, LogComponent::access, 5286307, "Failed to authenticate",
            Attributes()
                .add("client", client.remote())
                .add("isSpeculative", speculative)
                .add("mechanism", mechanism)
                .add("user", user.name)
                .add("db", user.db)
                .add("error", why));
  if (audit_) {
    bson::Builder param;
    param.append("user", user.name).append("db", user.db).append("mechanism", mechanism);
    audit_->record("authenticate", &client, param.done(), ErrorCode::authentication_failed);
  }
}

void Logins::log_out(Client& client) {
  client.conversation.reset();
  const access::AuthorityPtr authority = client.authority();
  if (!authority) return;
  if (audit_) {
    bson::Builder param;
    {
      auto users = param.array("initialUsers");
      users.object().append("user", authority->user.name).append("db", authority->user.db);
    }
    { param.array("updatedUsers"); }
    param.append("reason", "Explicit logout");
    audit_->record("logout", &client, param.done(), ErrorCode::ok);
  }
  client.set_authority(nullptr, 0);
}

int64_t Logins::delay_ms(const Client& client) const {
  return std::max(failures_->delay_ms(remote_address(client)), settings_.failed_delay_ms.load(std::memory_order_relaxed));
}

std::vector<std::string> Logins::mechanisms_of(const Name& name) const {
  std::vector<std::string> out;
  std::optional<User> user;
  try {
    user = users_ ? users_->find(name) : std::nullopt;
  } catch (const OperationError&) {
    // A user whose document isn't sound can't log in, and looks like one who doesn't exist.
  }
  const bool everything = !user || name == access::internal_authority()->user;
  if ((everything || !user->sha1.empty()) && offers("SCRAM-SHA-1")) out.emplace_back("SCRAM-SHA-1");
  if ((everything || !user->sha256.empty()) && offers("SCRAM-SHA-256")) out.emplace_back("SCRAM-SHA-256");
  return out;
}

void Logins::refresh(Client& client) const {
  if (!users_) return;
  const uint64_t now = users_->generation();
  if (client.authority_generation == now) return;
  const access::AuthorityPtr before = client.authority();
  if (!before || before->internal) {
    client.authority_generation = now;
    return;
  }
  access::AuthorityPtr after;
  try {
    after = users_->authority(before->user, client);
  } catch (const OperationError& error) {
    base::log(Severity::warning, LogComponent::access, 20244, "Could not fetch updated user privileges; the user is logged out",
              Attributes().add("user", before->user.name).add("db", before->user.db).add("error", error.what()));
  }
  if (after && after->user_id != before->user_id) after = nullptr;  // he was dropped, and another has his name
  client.set_authority(after, now);
}

access::AuthorityPtr Logins::without_login(const Client& client, bool arbiter) const {
  if (!settings_.localhost_bypass.load(std::memory_order_relaxed) || !is_local(client)) return nullptr;
  static const access::AuthorityPtr usual = first_steps(false), of_arbiter = first_steps(true);
  if (users_ && users_->any()) return nullptr;
  return arbiter ? of_arbiter : usual;
}

std::vector<Logins::MechanismCounts> Logins::counts() const {
  std::vector<MechanismCounts> out;
  for (const auto& [mechanism, counted] : counted_) {
    out.push_back({mechanism, counted.all.received.load(), counted.all.successful.load(), counted.speculative.received.load(),
                   counted.speculative.successful.load()});
  }
  return out;
}

}  // namespace server::users
