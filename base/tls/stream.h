// A stream is TLS over a connected socket that doesn't block.
//
// It never waits. A call that can't go on says what the socket has to be ready for, and the caller waits in its own way: a
// coroutine, a handler or poll.
//
//   for (Need need; (need = stream.handshake()) != Need::nothing;) wait(socket, need);
#pragma once

#include <memory>
#include <string>

#include "base/bytes.h"

struct ssl_st;

namespace base::tls {

// `closed`: the other side ended the connection. `failed`: failure() says why, and the stream is of no use any more.
enum class Need { nothing, read, write, closed, failed };

// One thread at a time uses a stream. It borrows the socket, whose owner closes it after the stream is gone or idle.
class Stream {
 public:
  // Takes the session, whose socket and role are set.
  explicit Stream(ssl_st* session);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Returns `nothing` once both sides agree on keys and have accepted each other's certificates.
  Need handshake();

  struct Progress {
    size_t bytes = 0;
    Need need = Need::nothing;
  };
  // Both return bytes with `nothing`, or no bytes and what is needed. `room` and `bytes` aren't empty. A write that needed
  // something is repeated with the same bytes at its front.
  Progress read(char* room, size_t size);
  Progress write(BytesView bytes);
  // Returns whether bytes were taken off the socket that read() hasn't returned yet.
  bool has_read_ahead() const;

  // Says goodbye, if the socket takes it at once.
  void close_notify();

  const std::string& failure() const { return failure_; }
  std::string version() const;  // "1.2", "1.3"
  // Returns the subject of the other side's certificate as RFC 2253 writes it; empty if it has shown none, or none that was
  // verified.
  std::string peer_subject() const;
  // Returns why the other side's certificate isn't valid, though the settings allowed that; empty: it is, or there is none.
  std::string peer_problem() const;

 private:
  Need judge(int result);

  const std::unique_ptr<ssl_st, void (*)(ssl_st*)> session_;
  std::string failure_;
};

}  // namespace base::tls
