#include "replication/consensus/socket_state.h"

#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

namespace replication::consensus {

int unacknowledged_bytes(int descriptor) {
  int bytes = 0;
  // The system goes on counting what a connection lost when it was reset.
  return !closed_by_peer(descriptor) && ::ioctl(descriptor, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool closed_by_peer(int descriptor) {
  char byte;
  const ssize_t got = ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

bool has_unread(int descriptor) {
  char byte;
  return ::recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

int family_of(int descriptor) {
  int family = 0;
  socklen_t bytes = sizeof family;
  return ::getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &family, &bytes) == 0 ? family : 0;
}

void set_patience(int descriptor, std::chrono::milliseconds patience) {
  const auto ms = static_cast<unsigned>(patience.count());
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

}  // namespace replication::consensus
