// A TcpConnection is one connection from another member: a hello comes first, then messages. It is internal to the transport.
//
// Memory is taken for bytes that arrived, not for what is announced. Bytes that are no frame, or that come from no member of this
// set, end the connection.
#pragma once

#include <asio/generic/stream_protocol.hpp>
#include <asio/io_context.hpp>
#include <memory>
#include <optional>

#include "base/tls/stream.h"
#include "replication/consensus/deadline.h"
#include "replication/consensus/frame.h"

namespace replication::consensus {

class TcpConnection : public std::enable_shared_from_this<TcpConnection> {
 public:
  using Protocol = asio::generic::stream_protocol;

  // Each is called on the connection's executor.
  class Owner {
   public:
    virtual ~Owner() = default;
    // Does the hello come from another member of this set, and does it mean this member?
    virtual bool accepts(const Hello& hello) const = 0;
    // The connection has become another one of `hello.from`, on the context that serves the lane: its socket and the bytes that
    // came behind the hello go on there.
    virtual void greeted(const std::shared_ptr<TcpConnection>& connection, const Hello& hello, Protocol::socket socket,
                         std::unique_ptr<base::tls::Stream> tls, Bytes already_read) = 0;
    virtual void received(MemberId from, BytesView message) = 0;
    virtual void ended(const std::shared_ptr<TcpConnection>& connection) = 0;
  };

  // `tls`: nullptr for a plain connection. `already_read` are the next bytes of the connection, which somebody else has taken off
  // it. `from`: the member that it belongs to; 0 where the hello is still to come.
  TcpConnection(Protocol::socket socket, std::unique_ptr<base::tls::Stream> tls, Bytes already_read, MemberId from, Owner& owner);
  // Called once. The connection lives until it has ended or the contexts have stopped.
  void start();

 private:
  using Step = void (TcpConnection::*)();

  void read(char* to, size_t bytes, Step then);
  void read_tls(char* to, size_t bytes, Step then);
  void read_header();
  void read_payload();
  void read_more();  // of the payload
  void handle_frame();
  void greet(BytesView payload);
  void deliver(BytesView payload);
  void end();

  Owner& owner_;
  const MemberId from_;
  Protocol::socket socket_;
  std::unique_ptr<base::tls::Stream> tls_;
  Deadline greeting_;
  Bytes ahead_;  // already_read, as far as it isn't handled yet
  size_t ahead_taken_ = 0;
  char header_bytes_[frame_header_bytes];
  std::optional<FrameHeader> header_;
  Bytes payload_;
  FrameDecompressor decompressor_;
};

}  // namespace replication::consensus
