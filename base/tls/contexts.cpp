#include "base/tls/contexts.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstring>

#include "base/error.h"
#include "base/tls/subject.h"

namespace base::tls {
namespace {

using Context = std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)>;

[[noreturn]] void fail(const std::string& what) {
  std::string why;
  if (const unsigned long code = ERR_peek_last_error()) {
    const char* const reason = ERR_reason_error_string(code);
    if (reason) why = std::string(": ") + reason;
  }
  ERR_clear_error();
  throw OperationError(invalid_configuration, what + why);
}

// OpenSSL asks for the password of a key; without one it would ask at the terminal.
int give_password(char* room, int size, int, void* settings) {
  const auto& password = *static_cast<const std::string*>(settings);
  if (password.empty() || password.size() > static_cast<size_t>(size)) return -1;
  std::memcpy(room, password.data(), password.size());
  return static_cast<int>(password.size());
}

int accept_any(int, X509_STORE_CTX*) {
  return 1;
}

void load_key(SSL_CTX* context, const std::string& file, const std::string& password) {
  SSL_CTX_set_default_passwd_cb(context, give_password);
  SSL_CTX_set_default_passwd_cb_userdata(context, const_cast<std::string*>(&password));
  if (SSL_CTX_use_certificate_chain_file(context, file.c_str()) != 1) fail("Can not set up PEM key file " + file);
  if (SSL_CTX_use_PrivateKey_file(context, file.c_str(), SSL_FILETYPE_PEM) != 1)
    fail("Can not set up PEM key file " + file + ": the private key can't be read");
  if (SSL_CTX_check_private_key(context) != 1) fail("The private key in " + file + " doesn't belong to its certificate");
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  const X509* const certificate = SSL_CTX_get0_certificate(context);
  if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0 || X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
    fail("The provided SSL certificate is expired or not yet valid: " + file);
}

void load_authorities(SSL_CTX* context, const std::string& ca_file, const std::string& crl_file) {
  if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) != 1)
    fail("Cannot read certificate authority file " + ca_file);
  if (crl_file.empty()) return;
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  X509_LOOKUP* const lookup = X509_STORE_add_lookup(store, X509_LOOKUP_file());
  if (!lookup || X509_load_crl_file(lookup, crl_file.c_str(), X509_FILETYPE_PEM) < 1)
    fail("Cannot read certificate revocation list " + crl_file);
  X509_STORE_set_flags(store, X509_V_FLAG_CRL_CHECK);
}

Context make(const SSL_METHOD* method, const Settings& settings) {
  Context context(SSL_CTX_new(method), SSL_CTX_free);
  if (!context) fail("Can not make a TLS context");
  SSL_CTX_set_min_proto_version(context.get(), settings.tls12 ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(context.get(), settings.tls13 ? TLS1_3_VERSION : TLS1_2_VERSION);
  // A write may take a part, and may be repeated from a buffer that has moved.
  SSL_CTX_set_mode(context.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_NO_TICKET);
  // Every connection shows its certificate anew, so that a revoked one is of no use any more. And a server sends nothing of its
  // own accord: whoever only writes learns from the first byte that the connection has ended.
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  return context;
}

Context make_server(const Settings& settings) {
  Context context = make(TLS_server_method(), settings);
  load_key(context.get(), settings.certificate_key_file, settings.certificate_key_password);
  const std::string& authorities = settings.cluster_ca_file.empty() ? settings.ca_file : settings.cluster_ca_file;
  if (authorities.empty()) return context;
  load_authorities(context.get(), authorities, settings.crl_file);
  SSL_CTX_set_client_CA_list(context.get(), SSL_load_client_CA_file(authorities.c_str()));
  const bool may_lack = settings.allow_without_certificates || settings.allow_invalid_certificates;
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | (may_lack ? 0 : SSL_VERIFY_FAIL_IF_NO_PEER_CERT),
                     settings.allow_invalid_certificates ? accept_any : nullptr);
  return context;
}

Context make_client(const Settings& settings) {
  Context context = make(TLS_client_method(), settings);
  if (settings.cluster_file.empty())
    load_key(context.get(), settings.certificate_key_file, settings.certificate_key_password);
  else
    load_key(context.get(), settings.cluster_file, settings.cluster_password);
  if (settings.ca_file.empty()) return context;
  load_authorities(context.get(), settings.ca_file, settings.crl_file);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, settings.allow_invalid_certificates ? accept_any : nullptr);
  return context;
}

int64_t wall_ms_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<int64_t>(::timegm(&parts)) * 1000 : 0;
}

}  // namespace

struct Contexts::Loaded {
  explicit Loaded(const Settings& settings) : server(make_server(settings)), client(make_client(settings)) {}

  Context server, client;
};

Contexts::Contexts(Settings settings) : settings_(std::move(settings)), loaded_(std::make_shared<const Loaded>(settings_)) {}
Contexts::~Contexts() = default;

void Contexts::reload() {
  auto next = std::make_shared<const Loaded>(settings_);
  const MutexLock lock(mutex_);
  loaded_ = std::move(next);
}

std::shared_ptr<const Contexts::Loaded> Contexts::loaded() const {
  const MutexLock lock(mutex_);
  return loaded_;
}

Certificate Contexts::own() const {
  const auto now = loaded();
  const X509* const certificate = SSL_CTX_get0_certificate(now->server.get());
  return {subject_of(*certificate), wall_ms_of(X509_get0_notAfter(certificate))};
}

std::unique_ptr<Stream> Contexts::accept(int descriptor) const {
  SSL* const session = SSL_new(loaded()->server.get());
  if (!session) fail("There is no memory for a TLS session");
  auto stream = std::make_unique<Stream>(session);
  if (SSL_set_fd(session, descriptor) != 1) fail("There is no memory for a TLS session");
  SSL_set_accept_state(session);
  return stream;
}

std::unique_ptr<Stream> Contexts::connect(int descriptor, const std::string& host) const {
  SSL* const session = SSL_new(loaded()->client.get());
  if (!session) fail("There is no memory for a TLS session");
  auto stream = std::make_unique<Stream>(session);
  if (SSL_set_fd(session, descriptor) != 1) fail("There is no memory for a TLS session");
  SSL_set_connect_state(session);
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(session);
  const bool address = X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1;
  if (!address) SSL_set_tlsext_host_name(session, host.c_str());
  const bool checked = !settings_.allow_invalid_hostnames && !settings_.ca_file.empty();
  if (address && !checked) X509_VERIFY_PARAM_set1_ip(wanted, nullptr, 0);
  if (!address && checked && SSL_set1_host(session, host.c_str()) != 1) fail("\"" + host + "\" is no name of a host");
  ERR_clear_error();
  return stream;
}

}  // namespace base::tls
