#include "base/tls/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>

#include "base/tls/subject.h"

namespace base::tls {

namespace {

// Returns what OpenSSL's queue of errors says, and empties it.
std::string take_errors() {
  std::string text;
  while (const unsigned long code = ERR_get_error()) {
    const char* const reason = ERR_reason_error_string(code);
    if (!text.empty()) text += "; ";
    text += reason ? reason : "error " + std::to_string(code);
  }
  return text;
}

}  // namespace

Stream::Stream(ssl_st* session) : session_(session, SSL_free) {}
Stream::~Stream() = default;

Need Stream::judge(int result) {
  const int error_number = errno;
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_NONE: return Need::nothing;
    case SSL_ERROR_WANT_READ: return Need::read;
    case SSL_ERROR_WANT_WRITE: return Need::write;
    case SSL_ERROR_ZERO_RETURN: return Need::closed;
    case SSL_ERROR_SYSCALL: failure_ = error_number == 0 ? "the connection was closed" : std::strerror(error_number); break;
    default: failure_ = take_errors(); break;
  }
  if (const long verdict = SSL_get_verify_result(session_.get()); verdict != X509_V_OK)
    failure_ += std::string(": ") + X509_verify_cert_error_string(verdict);
  ERR_clear_error();
  return Need::failed;
}

Need Stream::handshake() {
  ERR_clear_error();
  errno = 0;
  return judge(SSL_do_handshake(session_.get()));
}

Stream::Progress Stream::read(char* room, size_t size) {
  ERR_clear_error();
  errno = 0;
  size_t bytes = 0;
  const int result = SSL_read_ex(session_.get(), room, size, &bytes);
  return result == 1 ? Progress{bytes, Need::nothing} : Progress{0, judge(result)};
}

Stream::Progress Stream::write(BytesView bytes) {
  ERR_clear_error();
  errno = 0;
  size_t written = 0;
  const int result = SSL_write_ex(session_.get(), bytes.data(), bytes.size(), &written);
  return result == 1 ? Progress{written, Need::nothing} : Progress{0, judge(result)};
}

bool Stream::has_read_ahead() const {
  return SSL_has_pending(session_.get()) == 1;
}

void Stream::close_notify() {
  if (!failure_.empty() || !SSL_is_init_finished(session_.get())) return;
  SSL_shutdown(session_.get());
  ERR_clear_error();
}

std::string Stream::version() const {
  return SSL_version(session_.get()) == TLS1_3_VERSION ? "1.3" : "1.2";
}

std::string Stream::peer_subject() const {
  const X509* const certificate = SSL_get0_peer_certificate(session_.get());
  const bool verified =
      SSL_get_verify_mode(session_.get()) != SSL_VERIFY_NONE && SSL_get_verify_result(session_.get()) == X509_V_OK;
  return certificate && verified ? subject_of(*certificate) : "";
}

std::string Stream::peer_problem() const {
  const long verdict = SSL_get_verify_result(session_.get());
  if (verdict == X509_V_OK || !SSL_get0_peer_certificate(session_.get())) return "";
  return X509_verify_cert_error_string(verdict);
}

}  // namespace base::tls
