#include "server/peers/peer_client.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace server::peers {

using base::ErrorCode;
using base::OperationError;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

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
  channel_.reset();
  tls_.reset();
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

void PeerClient::interrupt() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto ignored = ::write(interrupt_, &one, sizeof one);
}

bson::Document PeerClient::run(const std::string& db, bson::DocumentView command, int64_t call_ms) {
  return checked_reply(run_raw(db, command, call_ms), address_);
}

bson::Document PeerClient::run_raw(const std::string& db, bson::DocumentView command, int64_t call_ms) {
  try {
    ensure_connected();
    return channel_->call(db, command, steady_clock::now() + milliseconds(call_ms > 0 ? call_ms : options_.call_ms));
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
      PeerChannel(address_, socket_, nullptr, interrupt_, 0).await(POLLOUT, deadline, "connecting to");
      socklen_t bytes = sizeof error;
      if (::getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0) error = errno;
    }
    if (error == 0) {
      const int on = 1;
      ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
      begin(deadline);
      ++connections_made_;
      return;
    }
    why = numeric(*each) + ") :: caused by :: " + std::strerror(error);
    close();
  }
  throw unreachable("Error connecting to " + address_ + " (" + why);
}

// The connection shakes hands and logs in, as far as the options say so.
void PeerClient::begin(Time deadline) {
  if (options_.tls) tls_ = options_.tls->connect(socket_, where_.host);
  channel_.emplace(address_, socket_, tls_.get(), interrupt_, options_.reply_bytes_max);
  if (tls_) channel_->shake_hands(deadline);
  if (options_.login) log_in(*channel_, *options_.login, deadline);
}

}  // namespace server::peers
