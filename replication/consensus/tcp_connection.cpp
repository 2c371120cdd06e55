#include "replication/consensus/tcp_connection.h"

#include <algorithm>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/strand.hpp>
#include <cstring>

#include "base/log.h"

namespace replication::consensus {
namespace {

constexpr std::chrono::milliseconds greeting_wait(5000);
constexpr size_t read_step = 1 << 20;

}  // namespace

TcpConnection::TcpConnection(Protocol::socket socket, std::unique_ptr<base::tls::Stream> tls, Bytes already_read, MemberId from,
                             Owner& owner)
    : owner_(owner),
      from_(from),
      socket_(std::move(socket)),
      tls_(std::move(tls)),
      greeting_(socket_.get_executor()),
      ahead_(std::move(already_read)) {}

void TcpConnection::start() {
  if (from_ == 0) {
    greeting_.begin(greeting_wait, [self = shared_from_this()] {
      asio::error_code ignored;
      self->socket_.close(ignored);
    });
  }
  read_header();
}

void TcpConnection::read(char* to, size_t bytes, Step then) {
  const size_t here = std::min(bytes, ahead_.size() - ahead_taken_);
  std::memcpy(to, ahead_.data() + ahead_taken_, here);
  ahead_taken_ += here;
  if (ahead_taken_ == ahead_.size()) ahead_taken_ = 0, ahead_ = Bytes();
  if (tls_) return read_tls(to + here, bytes - here, then);
  asio::async_read(socket_, asio::buffer(to + here, bytes - here),
                   [self = shared_from_this(), then](const asio::error_code& error, size_t) {
                     if (error) return self->end();
                     (self.get()->*then)();
                   });
}

void TcpConnection::read_tls(char* to, size_t bytes, Step then) {
  while (bytes > 0) {
    const auto [got, need] = tls_->read(to, bytes);
    to += got;
    bytes -= got;
    if (need == base::tls::Need::nothing) continue;
    if (need != base::tls::Need::read && need != base::tls::Need::write) return end();
    const auto what = need == base::tls::Need::read ? Protocol::socket::wait_read : Protocol::socket::wait_write;
    return socket_.async_wait(what, [self = shared_from_this(), to, bytes, then](const asio::error_code& error) {
      if (error) return self->end();
      self->read_tls(to, bytes, then);
    });
  }
  // Posted, because the stream may hold many frames, each of which would be handled inside the one before.
  asio::post(socket_.get_executor(), [self = shared_from_this(), then] { (self.get()->*then)(); });
}

void TcpConnection::read_header() {
  read(header_bytes_, sizeof header_bytes_, &TcpConnection::read_payload);
}

void TcpConnection::read_payload() {
  const base::Result<FrameHeader> header = decode_header({header_bytes_, sizeof header_bytes_});
  if (!header) return end();
  header_ = header.value();
  payload_ = Bytes();
  read_more();
}

void TcpConnection::read_more() {
  const size_t at = payload_.size(), step = std::min(header_->payload_bytes - at, read_step);
  if (step == 0) return handle_frame();
  payload_.resize(at + step);
  read(payload_.data() + at, step, &TcpConnection::read_more);
}

void TcpConnection::handle_frame() {
  const base::Result<Bytes> payload =
      decode_payload({header_bytes_, sizeof header_bytes_}, *header_, std::move(payload_), decompressor_);
  const FrameKind expected = from_ == 0 ? FrameKind::hello : FrameKind::messages;
  if (!payload || header_->kind != expected) return end();
  if (expected == FrameKind::hello) return greet(payload.value());
  deliver(payload.value());
}

void TcpConnection::greet(BytesView payload) {
  const base::Result<Hello> hello = decode_hello(payload);
  if (!hello || !owner_.accepts(hello.value())) return end();
  greeting_.end();
  ahead_.erase(0, ahead_taken_);
  owner_.greeted(shared_from_this(), hello.value(), std::move(socket_), std::move(tls_), std::move(ahead_));
}

void TcpConnection::deliver(BytesView payload) {
  std::optional<BytesView> message;
  while (!payload.empty() && (message = take_message(payload))) owner_.received(from_, *message);
  if (payload.empty()) return read_header();
  end();
}

void TcpConnection::end() {
  if (from_ == 0) {
    greeting_.end();
    base::log(base::Severity::info, base::LogComponent::repl, 7100010,
              "Turned away a connection that is no member's of this set");
  }
  asio::error_code ignored;
  socket_.close(ignored);
  owner_.ended(shared_from_this());
}

}  // namespace replication::consensus
