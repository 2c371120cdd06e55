// A session's part for TLS: it finds out whether a connection begins as TLS, shakes hands, and moves bytes through the stream.
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>

#include "base/log.h"
#include "base/tls/contexts.h"
#include "server/core/metrics.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/wire/message.h"
#include "server/wire/reactors.h"
#include "server/wire/session.h"

namespace server::wire {

using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using base::LogComponent;
using base::Severity;
using base::tls::Need;

namespace {

constexpr auto handshake_time_max = std::chrono::seconds(10);  // from the first byte on
constexpr auto look_interval = std::chrono::milliseconds(5);
constexpr base::BytesView tls_start = "\x16\x03";  // a record of type handshake
constexpr int farewell_bytes_max = 47;             // a record that says goodbye is shorter, and one with a message longer

}  // namespace

awaitable<bool> Session::begin_tls() {
  asio::error_code error;
  co_await socket_.async_wait(Socket::wait_read, redirect_error(use_awaitable, error));
  if (error || closed_) co_return false;
  asio::steady_timer patience(socket_.get_executor(), handshake_time_max);
  patience.async_wait([waiting = weak_from_this()](asio::error_code ended) {
    const auto late = waiting.lock();
    if (!ended && late) late->close();
  });
  bool begun = false;
  const Beginning beginning = co_await await_beginning();
  if (beginning == Beginning::tls) begun = co_await shake_hands();
  if (beginning == Beginning::plain) {
    begun = services_.options.tls_mode != Options::TlsMode::require;
    if (!begun) log_malformed("SSLHandshakeFailed: The server is configured to only allow SSL connections");
  }
  patience.cancel();
  co_return begun && !closed_;
}

// Looks at the first bytes and leaves them where they are. A message may begin like a record of TLS, as far as its length goes; a
// known opcode behind it decides.
awaitable<Session::Beginning> Session::await_beginning() {
  std::array<char, header_bytes> start;
  asio::steady_timer timer(socket_.get_executor());
  for (;;) {
    const ssize_t seen = ::recv(socket_.native_handle(), start.data(), start.size(), MSG_PEEK | MSG_DONTWAIT);
    if (seen <= 0 || closed_) co_return Beginning::over;
    const base::BytesView bytes(start.data(), static_cast<size_t>(seen));
    const bool alike = bytes.substr(0, tls_start.size()) == tls_start.substr(0, bytes.size());
    if (!alike) co_return Beginning::plain;
    if (bytes.size() == start.size()) co_return decode_request_header(bytes) ? Beginning::plain : Beginning::tls;
    timer.expires_after(look_interval);
    asio::error_code ignored;
    co_await timer.async_wait(redirect_error(use_awaitable, ignored));
  }
}

awaitable<bool> Session::shake_hands() {
  tls_ = services_.tls->accept(socket_.native_handle());
  for (;;) {
    Need need;
    {
      // Signing takes a while; the supervisor sees to the reactor's other connections meanwhile.
      Reactors::Running running([](void*) {}, nullptr);
      need = tls_->handshake();
    }
    if (need == Need::nothing) break;
    if (need == Need::failed || need == Need::closed || closed_) {
      log_malformed("SSLHandshakeFailed: " + (closed_ ? "the handshake took too long" : tls_->failure()));
      co_return false;
    }
    co_await await_socket(need);
  }
  (tls_->version() == "1.3" ? metrics_.network.tls13 : metrics_.network.tls12).add();
  if (auto subject = tls_->peer_subject(); !subject.empty()) client_.tls_subject = std::move(subject);
  if (const std::string problem = tls_->peer_problem(); !problem.empty()) {
    base::log(Severity::warning, LogComponent::network, 23236, "Client's certificate is not valid, and is let pass",
              base::Attributes().add("error", problem).add("remote", client_.remote()));
  }
  co_return true;
}

// Returns false if the wait was broken off.
awaitable<bool> Session::await_socket(Need need) {
  asio::error_code error;
  const auto what = need == Need::read ? Socket::wait_read : Socket::wait_write;
  co_await socket_.async_wait(what, redirect_error(use_awaitable, error));
  co_return !error;
}

awaitable<size_t> Session::receive_tls(asio::mutable_buffer room, asio::error_code& error) {
  for (;;) {
    const auto [bytes, need] = tls_->read(static_cast<char*>(room.data()), room.size());
    if (need == Need::nothing) co_return bytes;
    if (need == Need::failed && !closed_) log_malformed("TLS failed: " + tls_->failure());
    const bool over = need == Need::failed || need == Need::closed || closed_;
    if (over || !co_await await_socket(need)) {
      error = asio::error::eof;
      co_return 0;
    }
  }
}

awaitable<void> Session::send_tls(base::BytesView bytes, asio::error_code& error) {
  while (!bytes.empty()) {
    const auto [written, need] = tls_->write(bytes);
    bytes.remove_prefix(written);
    if (need == Need::nothing) continue;
    const bool over = need == Need::failed || need == Need::closed || closed_;
    if (over || !co_await await_socket(need)) {
      error = asio::error::broken_pipe;
      co_return;
    }
  }
}

// Another thread asks this while a command runs. Whoever leaves says goodbye first, in a record that isn't read yet.
bool Session::peer_left_tls() {
  pollfd socket{socket_.native_handle(), POLLRDHUP, 0};
  int unread = 0;
  return ::poll(&socket, 1, 0) == 1 && ::ioctl(socket.fd, FIONREAD, &unread) == 0 && unread <= farewell_bytes_max;
}

}  // namespace server::wire
