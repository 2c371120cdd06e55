#include "server/peers/peer_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"
#include "bson/builder.h"
#include "server/wire/message.h"

namespace server::peers {

using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr size_t read_step = 1 << 20;  // memory is taken for bytes that came, not for the announced length

base::HostPort parsed(const std::string& address) {
  auto found = base::parse_host_port(address);
  if (!found) throw OperationError(ErrorCode::failed_to_parse, "\"" + address + "\" is no host with a port");
  return *std::move(found);
}

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const base::HostPort& where, const std::string& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &found);
  if (error != 0) {
    throw OperationError(ErrorCode::host_unreachable, "Error connecting to " + address +
                                                          " :: caused by :: Could not find address for " + address +
                                                          ": SocketException: " + ::gai_strerror(error));
  }
  return {found, ::freeaddrinfo};
}

std::string numeric(const addrinfo& at) {
  char host[NI_MAXHOST] = "", port[NI_MAXSERV] = "";
  ::getnameinfo(at.ai_addr, at.ai_addrlen, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
  return at.ai_family == AF_INET6 ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

OperationError unreachable(const std::string& text) {
  return {ErrorCode::host_unreachable, text};
}
OperationError wrong_reply(const std::string& text) {
  return {ErrorCode::protocol_error, text};
}

}  // namespace

PeerClient::PeerClient(std::string address, const Options& options)
    : address_(std::move(address)),
      where_(parsed(address_)),
      options_(options),
      interrupt_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (interrupt_ < 0)
    throw OperationError(ErrorCode::host_unreachable,
                         std::string("no file descriptor for a connection: ") + std::strerror(errno));
}

PeerClient::~PeerClient() {
  close();
  ::close(interrupt_);
}

void PeerClient::close() {
  tls_.reset();
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void PeerClient::interrupt() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(interrupt_, &one, sizeof one);
}

bson::Document PeerClient::run(const std::string& db, bson::DocumentView command, int64_t call_ms) {
  bson::Document reply = run_raw(db, command, call_ms);
  if (reply.find("ok").truthy()) return reply;
  const auto code = reply.find("code");
  const auto message = reply.find("errmsg");
  throw OperationError(
      code.is_number() && code.to_int64() != 0 ? static_cast<ErrorCode>(code.to_int64()) : ErrorCode::unknown_error,
      message.is_string() ? std::string(message.as_string()) : "no message from " + address_);
}

bson::Document PeerClient::run_raw(const std::string& db, bson::DocumentView command, int64_t call_ms) {
  bson::Builder body;
  body.append_all(command).append("$db", db);
  last_request_ = last_request_ == INT32_MAX ? 1 : last_request_ + 1;
  const Bytes request = wire::encode_msg(last_request_, wire::checksum_present, body.done());
  try {
    ensure_connected();
    const Time deadline = steady_clock::now() + milliseconds(call_ms > 0 ? call_ms : options_.call_ms);
    send_all(request, deadline);
    Bytes whole;
    receive(whole, wire::header_bytes, deadline);
    const wire::Header header = wire::decode_header(whole).or_throw();
    if (static_cast<uint32_t>(header.length) > options_.reply_bytes_max) {
      throw wrong_reply("a reply of " + std::to_string(header.length) + " bytes from " + address_ +
                        " is larger than was asked for");
    }
    receive(whole, static_cast<size_t>(header.length), deadline);
    const auto decoded = wire::decode_reply(whole);
    if (!decoded) throw wrong_reply("a reply from " + address_ + " can't be read: " + decoded.failure().message);
    const wire::ReplyMessage& reply = decoded.value();
    if (reply.response_to != last_request_) throw wrong_reply("a reply from " + address_ + " answers another command");
    if (reply.flags & wire::more_to_come) throw wrong_reply("a reply from " + address_ + " is the first of several");
    if (!(reply.flags & wire::checksum_present)) throw wrong_reply("a reply from " + address_ + " has no checksum");
    return bson::Document(reply.body);
  } catch (...) {
    close();
    throw;
  }
}

// Bytes that nobody asked for, or the end of the stream: either way the connection is useless.
bool PeerClient::gone() const {
  pollfd socket{socket_, POLLIN, 0};
  return ::poll(&socket, 1, 0) != 0;
}

void PeerClient::ensure_connected() {
  if (socket_ >= 0 && !gone()) return;
  close();
  const Time deadline = steady_clock::now() + milliseconds(options_.connect_ms);
  const Addresses addresses = resolve(where_, address_);
  std::string why;
  for (const addrinfo* each = addresses.get(); each; each = each->ai_next) {
    socket_ = ::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, each->ai_protocol);
    if (socket_ < 0) throw unreachable("Error connecting to " + address_ + " :: caused by :: " + std::strerror(errno));
    int error = ::connect(socket_, each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      await(POLLOUT, deadline, "connecting to");
      socklen_t bytes = sizeof error;
      if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
    }
    if (error == 0) {
      const int on = 1;
      ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
      if (options_.tls) begin_tls(deadline);
      ++connections_made_;
      return;
    }
    why = numeric(*each) + ") :: caused by :: " + std::strerror(error);
    close();
  }
  throw unreachable("Error connecting to " + address_ + " (" + why);
}

void PeerClient::begin_tls(Time deadline) {
  using base::tls::Need;
  tls_ = options_.tls->connect(socket_, where_.host);
  for (;;) {
    const Need need = tls_->handshake();
    if (need == Need::nothing) return;
    if (need == Need::failed || need == Need::closed)
      throw unreachable("Error connecting to " + address_ + " :: caused by :: SSLHandshakeFailed: " + tls_->failure());
    await(need == Need::read ? POLLIN : POLLOUT, deadline, "shaking hands with");
  }
}

// Waits for `events`, or for the connection's end, which the next call on the socket reports.
void PeerClient::await(short events, Time deadline, const char* doing) {
  for (;;) {
    const auto left = std::chrono::ceil<milliseconds>(deadline - steady_clock::now()).count();
    std::array<pollfd, 2> both{{{socket_, events, 0}, {interrupt_, POLLIN, 0}}};
    const int ready = left <= 0 ? 0 : ::poll(both.data(), both.size(), static_cast<int>(std::min<int64_t>(left, INT32_MAX)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) throw unreachable(std::string("poll failed while ") + doing + " " + address_ + ": " + std::strerror(errno));
    if (both[1].revents != 0)
      throw OperationError(ErrorCode::shutdown_in_progress, std::string("interrupted while ") + doing + " " + address_);
    if (both[0].revents != 0) return;
    if (steady_clock::now() >= deadline)
      throw OperationError(ErrorCode::network_timeout, std::string("time ran out while ") + doing + " " + address_);
  }
}

void PeerClient::send_all(BytesView bytes, Time deadline) {
  while (tls_ && !bytes.empty()) {
    const auto [written, need] = tls_->write(bytes);
    bytes.remove_prefix(written);
    if (need == base::tls::Need::nothing) continue;
    if (need == base::tls::Need::failed || need == base::tls::Need::closed)
      throw unreachable("the connection to " + address_ + " broke: " + tls_->failure());
    await(need == base::tls::Need::read ? POLLIN : POLLOUT, deadline, "sending to");
  }
  while (!bytes.empty()) {
    await(POLLOUT, deadline, "sending to");
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (sent <= 0) throw unreachable("the connection to " + address_ + " broke: " + std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
}

// Receives until `into` has that many bytes.
void PeerClient::receive(Bytes& into, size_t bytes, Time deadline) {
  size_t got = into.size();
  while (got < bytes) {
    if (got == into.size()) into.resize(std::min(bytes, got + std::max(got, read_step)));
    if (tls_) {
      const auto [more, need] = tls_->read(into.data() + got, into.size() - got);
      got += more;
      if (need == base::tls::Need::nothing) continue;
      if (need == base::tls::Need::failed || need == base::tls::Need::closed)
        throw unreachable("the connection to " + address_ + " was closed by the other side " + tls_->failure());
      await(need == base::tls::Need::read ? POLLIN : POLLOUT, deadline, "waiting for");
      continue;
    }
    await(POLLIN, deadline, "waiting for");
    const ssize_t received = ::recv(socket_, into.data() + got, into.size() - got, 0);
    if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (received < 0) throw unreachable("the connection to " + address_ + " broke: " + std::strerror(errno));
    if (received == 0) throw unreachable("the connection to " + address_ + " was closed by the other side");
    got += static_cast<size_t>(received);
  }
}

}  // namespace server::peers
