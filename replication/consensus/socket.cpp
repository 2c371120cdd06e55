#include "replication/consensus/socket.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace replication::consensus {
namespace {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

Addresses resolve(const std::string& host, uint16_t port, bool listening) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = listening ? AI_PASSIVE : 0;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) found = nullptr;
  return {found, [](addrinfo* list) {
            if (list) freeaddrinfo(list);
          }};
}

timeval time_of(int ms) {
  return {ms / 1000, (ms % 1000) * 1000};
}

}  // namespace

Socket::~Socket() {
  if (const int descriptor = descriptor_.exchange(-1); descriptor >= 0) ::close(descriptor);
}

Socket& Socket::operator=(Socket&& other) noexcept {
  if (const int descriptor = descriptor_.exchange(other.descriptor_.exchange(-1)); descriptor >= 0) ::close(descriptor);
  return *this;
}

void Socket::shut_down() {
  if (open()) ::shutdown(descriptor_, SHUT_RDWR);
}

void Socket::set_timeouts(int read_ms, int write_ms) {
  const timeval read = time_of(read_ms), write = time_of(write_ms);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &read, sizeof read);
  ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &write, sizeof write);
}

void Socket::set_patience(int ms) {
  const unsigned patience = static_cast<unsigned>(ms);
  ::setsockopt(descriptor_, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof patience);
}

int Socket::unacknowledged() const {
  int bytes = 0;
  // The system goes on counting what a connection lost when it was reset.
  return open() && !closed_by_peer() && ::ioctl(descriptor_, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool Socket::closed_by_peer() const {
  char byte;
  const ssize_t got = ::recv(descriptor_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool Socket::write_all(base::BytesView bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

bool Socket::read_exactly(char* to, size_t bytes) {
  while (bytes > 0) {
    const ssize_t got = ::recv(descriptor_, to, bytes, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

Socket connect_to(const std::string& host, uint16_t port, int timeout_ms) {
  const Addresses addresses = resolve(host, port, false);
  for (const addrinfo* each = addresses.get(); each; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    if (!socket.open()) continue;
    socket.set_timeouts(0, timeout_ms);  // of connect, too
    if (::connect(socket.descriptor(), each->ai_addr, each->ai_addrlen) != 0) continue;
    const int on = 1;
    ::setsockopt(socket.descriptor(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    return socket;
  }
  return Socket();
}

Socket listen_on(const std::string& host, uint16_t port) {
  const Addresses addresses = resolve(host, port, true);
  for (const addrinfo* each = addresses.get(); each; each = each->ai_next) {
    Socket socket(::socket(each->ai_family, each->ai_socktype | SOCK_CLOEXEC, each->ai_protocol));
    const int on = 1;
    if (!socket.open()) continue;
    ::setsockopt(socket.descriptor(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (::bind(socket.descriptor(), each->ai_addr, each->ai_addrlen) == 0 && ::listen(socket.descriptor(), 128) == 0)
      return socket;
  }
  throw base::OperationError(base::ErrorCode::host_unreachable,
                             "cannot listen on " + host + ":" + std::to_string(port) + ": " + std::strerror(errno));
}

uint16_t port_of(const Socket& socket) {
  sockaddr_storage address{};
  socklen_t bytes = sizeof address;
  if (::getsockname(socket.descriptor(), reinterpret_cast<sockaddr*>(&address), &bytes) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

}  // namespace replication::consensus
