// A TCP connection, blocking, closed when it goes.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace replication::consensus {

class Socket {
 public:
  explicit Socket(int descriptor = -1) : descriptor_(descriptor) {}
  ~Socket();
  Socket(Socket&& other) noexcept : descriptor_(other.descriptor_.exchange(-1)) {}
  Socket& operator=(Socket&& other) noexcept;

  bool open() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  // Wakes whoever is blocked on it. From any thread.
  void shut_down();

  // False: the connection is of no more use.
  bool write_all(base::BytesView bytes);
  bool read_exactly(char* to, size_t bytes);
  void set_timeouts(int read_ms, int write_ms);  // 0: none
  // What the other side hasn't acknowledged for so long breaks the connection.
  void set_patience(int ms);
  // Bytes written that have not arrived and still may; 0 where it isn't open, or the other side has ended it.
  int unacknowledged() const;
  // The other side, which sends nothing, has ended it.
  bool closed_by_peer() const;

 private:
  std::atomic<int> descriptor_;
};

Socket connect_to(const std::string& host, uint16_t port, int timeout_ms);  // not open: it didn't work
// Throws OperationError: HostUnreachable where the address can't be taken. Port 0 takes a free one.
Socket listen_on(const std::string& host, uint16_t port);
uint16_t port_of(const Socket& socket);

}  // namespace replication::consensus
