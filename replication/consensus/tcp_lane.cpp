#include "replication/consensus/tcp_lane.h"

#include <sys/socket.h>

#include <algorithm>
#include <asio/post.hpp>
#include <asio/strand.hpp>

#include "base/error.h"
#include "base/log.h"
#include "replication/consensus/socket_state.h"

namespace replication::consensus {

using asio::ip::tcp;
using std::chrono::milliseconds;

namespace {

constexpr milliseconds connect_wait(1000);  // for each address of the host
constexpr milliseconds handshake_wait(5000);
constexpr milliseconds write_stall(5000);
constexpr milliseconds pause_first(20), pause_max(500);
constexpr size_t frame_bytes_wanted = 1 << 20;

}  // namespace

TcpLane::TcpLane(asio::io_context& context, asio::thread_pool& names, LaneOptions options, std::function<void(size_t)> lost)
    : options_(std::move(options)),
      lost_(std::move(lost)),
      executor_(asio::make_strand(context)),
      names_(names),
      socket_(executor_),
      deadline_(executor_),
      pause_(pause_first) {}

bool TcpLane::push(Bytes message) {
  {
    const base::MutexLock lock(mutex_);
    if (closed_ || (!queue_.empty() && queue_bytes_ + message.size() > options_.queue_bytes_max)) return false;
    queue_bytes_ += message.size();
    queue_.push_back(std::move(message));
    if (std::exchange(busy_, true)) return true;
  }
  asio::post(executor_, [self = shared_from_this()] { self->send_next(); });
  return true;
}

bool TcpLane::under_way() const {
  const base::MutexLock lock(mutex_);
  return !queue_.empty() || sending_ > 0 || (descriptor_ >= 0 && unacknowledged_bytes(descriptor_) > 0);
}

void TcpLane::close() {
  {
    const base::MutexLock lock(mutex_);
    closed_ = true;
    queue_.clear();
    queue_bytes_ = 0;
  }
  asio::post(executor_, [self = shared_from_this()] {
    self->deadline_.end();
    // A login under way ends at once, and then finds that the lane is closed.
    if (self->logging_in_)
      ::shutdown(self->socket_.native_handle(), SHUT_RDWR);
    else
      self->drop_connection();
  });
}

bool TcpLane::is_closed() const {
  const base::MutexLock lock(mutex_);
  return closed_;
}

void TcpLane::send_next() {
  {
    const base::MutexLock lock(mutex_);
    sending_ = 0;
    busy_ = !closed_ && !queue_.empty();
    payload_ = busy_ ? take() : Bytes();
  }
  frame_ = Bytes();
  if (payload_.empty()) return;
  if (!socket_.is_open()) return look_up();
  // Messages to a connection that the other side has closed may be lost, and only the next write would report that.
  if (closed_by_peer(socket_.native_handle()) || (tls_ && has_unread(socket_.native_handle()))) return fail();
  frame_ = encode_frame(FrameKind::messages, payload_, compressor_.get());
  write(0);
}

Bytes TcpLane::take() {
  Bytes payload;
  while (!queue_.empty() && (payload.empty() || payload.size() + queue_.front().size() < frame_bytes_wanted)) {
    append_message(payload, queue_.front());
    queue_bytes_ -= queue_.front().size();
    queue_.pop_front();
    ++sending_;
  }
  return payload;
}

void TcpLane::look_up() {
  asio::error_code not_numeric;
  const auto address = asio::ip::make_address(options_.host, not_numeric);
  if (!not_numeric) return connect({tcp::endpoint(address, options_.port)});
  asio::post(names_, [self = shared_from_this()] {
    asio::error_code error;
    Endpoints endpoints;
    for (const auto& found : tcp::resolver(self->names_).resolve(self->options_.host, std::to_string(self->options_.port), error))
      endpoints.push_back(found.endpoint());
    asio::post(self->executor_, [self, endpoints = std::move(endpoints)]() mutable { self->connect(std::move(endpoints)); });
  });
}

void TcpLane::connect(Endpoints left) {
  if (left.empty() || is_closed()) return fail();
  const tcp::endpoint next = left.front();
  left.erase(left.begin());
  deadline_.begin(connect_wait, [self = shared_from_this()] { self->drop_connection(); });
  socket_.async_connect(next, [self = shared_from_this(), left = std::move(left)](const asio::error_code& error) mutable {
    self->deadline_.end();
    if (!error && self->socket_.is_open()) return self->options_.tls ? self->begin_tls() : self->log_in();
    self->drop_connection();
    self->connect(std::move(left));
  });
}

void TcpLane::begin_tls() {
  asio::error_code ignored;
  socket_.native_non_blocking(true, ignored);
  deadline_.begin(handshake_wait, [self = shared_from_this()] { self->drop_connection(); });
  try {
    tls_ = options_.tls->connect(socket_.native_handle(), options_.host);
  } catch (const base::OperationError& error) {
    deadline_.end();
    return report_tls(error.what());
  }
  shake_hands();
}

void TcpLane::report_tls(const std::string& why) {
  if (!std::exchange(tls_failed_, true)) {
    base::log(base::Severity::warning, base::LogComponent::repl, 7100011, "Another member can't be reached by TLS",
              base::Attributes().add("host", options_.host).add("port", int32_t{options_.port}).add("error", why));
  }
  fail();
}

void TcpLane::shake_hands() {
  using base::tls::Need;
  const Need need = tls_->handshake();
  if (need == Need::read || need == Need::write) {
    const auto what = need == Need::read ? tcp::socket::wait_read : tcp::socket::wait_write;
    return socket_.async_wait(what, [self = shared_from_this()](const asio::error_code& error) {
      if (error || !self->tls_) return self->fail();
      self->shake_hands();
    });
  }
  deadline_.end();
  if (need == Need::nothing) return log_in();
  report_tls(tls_->failure());
}

// A login takes few messages, which wait for each other, and a hash that takes long on purpose: that isn't for this thread.
void TcpLane::log_in() {
  if (!options_.log_in) return greet();
  asio::error_code ignored;
  socket_.native_non_blocking(true, ignored);
  logging_in_ = true;
  asio::post(names_, [self = shared_from_this()] {
    std::string failure;
    try {
      self->options_.log_in(self->socket_.native_handle(), self->tls_.get());
    } catch (const std::exception& error) {
      failure = error.what();
    }
    asio::post(self->executor_, [self, failure] {
      self->logging_in_ = false;
      if (self->is_closed()) return self->drop_connection();
      if (failure.empty()) {
        self->login_failed_ = false;
        return self->greet();
      }
      if (!std::exchange(self->login_failed_, true)) {
        base::log(
            base::Severity::warning, base::LogComponent::repl, 7100063, "Another member refused this one's login",
            base::Attributes().add("host", self->options_.host).add("port", int32_t{self->options_.port}).add("error", failure));
      }
      self->fail();
    });
  });
}

// The hello and the first messages go together.
void TcpLane::greet() {
  asio::error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  set_patience(socket_.native_handle(), write_stall);
  {
    const base::MutexLock lock(mutex_);
    descriptor_ = socket_.native_handle();
  }
  connected_ = std::chrono::steady_clock::now();
  compressor_ = options_.compress ? std::make_unique<FrameCompressor>() : nullptr;
  frame_ = encode_frame(FrameKind::hello, encode_hello(options_.hello));
  frame_ += encode_frame(FrameKind::messages, payload_, compressor_.get());
  write(0);
}

void TcpLane::write(size_t from) {
  deadline_.begin(write_stall, [self = shared_from_this()] { self->drop_connection(); });
  if (tls_) return write_tls(from);
  socket_.async_write_some(asio::buffer(frame_) + from,
                           [self = shared_from_this(), from](const asio::error_code& error, size_t bytes) {
                             self->deadline_.end();
                             if (error) return self->fail();
                             if (from + bytes < self->frame_.size()) return self->write(from + bytes);
                             self->written();
                           });
}

void TcpLane::write_tls(size_t from) {
  using base::tls::Need;
  while (from < frame_.size()) {
    const auto [bytes, need] = tls_->write(base::BytesView(frame_).substr(from));
    from += bytes;
    if (need == Need::nothing) continue;
    if (need != Need::read && need != Need::write) return fail();
    const auto what = need == Need::read ? tcp::socket::wait_read : tcp::socket::wait_write;
    return socket_.async_wait(what, [self = shared_from_this(), from](const asio::error_code& error) {
      self->deadline_.end();
      if (error || !self->tls_) return self->fail();
      self->write(from);
    });
  }
  deadline_.end();
  asio::post(executor_, [self = shared_from_this()] { self->written(); });
}

// Whoever refuses this member's certificate does so after its handshake, when the first messages are on their way already.
void TcpLane::written() {
  if (!tls_ || std::chrono::steady_clock::now() - connected_ > pause_max) pause_ = pause_first, tls_failed_ = false;
  send_next();
}

void TcpLane::fail() {
  drop_connection();
  size_t lost = 0;
  {
    const base::MutexLock lock(mutex_);
    if (closed_) return;
    lost = std::exchange(sending_, 0) + queue_.size();
    queue_.clear();
    queue_bytes_ = 0;
  }
  payload_ = frame_ = Bytes();
  lost_(lost);
  deadline_.begin(pause_, [self = shared_from_this()] { self->send_next(); });
  pause_ = std::min(pause_ * 2, pause_max);
}

void TcpLane::drop_connection() {
  const base::MutexLock lock(mutex_);  // nobody looks at a descriptor that is gone
  descriptor_ = -1;
  tls_.reset();
  asio::error_code ignored;
  socket_.close(ignored);
}

}  // namespace replication::consensus
