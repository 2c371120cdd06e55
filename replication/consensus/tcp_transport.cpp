#include "replication/consensus/tcp_transport.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <set>

#include "base/log.h"
#include "replication/consensus/frame.h"

namespace replication::consensus {
namespace {

constexpr int connect_ms = 1000;
constexpr int write_stall_ms = 5000;
constexpr int greeting_ms = 5000;
constexpr auto pause_first = std::chrono::milliseconds(20);
constexpr auto pause_max = std::chrono::milliseconds(500);
constexpr size_t frame_bytes_wanted = 1 << 20;
constexpr size_t read_step = 1 << 20;
constexpr uint32_t control_lane = 0, bulk_lane = 1;

// What comes in: first what somebody else has read of it.
class Incoming {
 public:
  Incoming(Socket& socket, Bytes already_read) : socket_(socket), ahead_(std::move(already_read)) {}

  bool read_exactly(char* to, size_t bytes) {
    const size_t here = std::min(bytes, ahead_.size() - taken_);
    std::memcpy(to, ahead_.data() + taken_, here);
    taken_ += here;
    if (taken_ == ahead_.size()) taken_ = 0, ahead_ = Bytes();
    return here == bytes || socket_.read_exactly(to + here, bytes - here);
  }

 private:
  Socket& socket_;
  Bytes ahead_;
  size_t taken_ = 0;
};

// nullopt: closed, or not what a member says.
std::optional<std::pair<FrameKind, Bytes>> read_frame(Incoming& socket, FrameDecompressor& decompressor) {
  char bytes[frame_header_bytes];
  if (!socket.read_exactly(bytes, sizeof bytes)) return std::nullopt;
  const base::Result<FrameHeader> header = decode_header({bytes, sizeof bytes});
  if (!header) return std::nullopt;
  // Memory for what has come, not for what was announced.
  Bytes payload;
  for (size_t left = header.value().payload_bytes; left > 0;) {
    const size_t step = std::min(left, read_step), at = payload.size();
    payload.resize(at + step);
    if (!socket.read_exactly(payload.data() + at, step)) return std::nullopt;
    left -= step;
  }
  base::Result<Bytes> body = decode_payload({bytes, sizeof bytes}, header.value(), std::move(payload), decompressor);
  if (!body) return std::nullopt;
  return std::pair(header.value().kind, std::move(body).value());
}

}  // namespace

// One connection out, with its queue and its thread.
class TcpTransport::Lane {
 public:
  Lane(TcpTransport& owner, MemberId to, uint32_t number, std::string host, uint16_t port)
      : owner_(owner), to_(to), number_(number), host_(std::move(host)), port_(port), thread_([this] { run(); }) {}
  ~Lane() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      socket_.shut_down();
    }
    woken_.notify_one();
    thread_.join();
  }

  bool push(Bytes message) {
    {
      std::lock_guard lock(mutex_);
      if (!queue_.empty() && queue_bytes_ + message.size() > owner_.options_.queue_bytes_max) return false;
      queue_bytes_ += message.size();
      queue_.push_back(std::move(message));
    }
    woken_.notify_one();
    return true;
  }

  bool under_way() const {
    std::lock_guard lock(mutex_);
    return !queue_.empty() || writing_ || socket_.unacknowledged() > 0;
  }

 private:
  void run() {
    base::LogContext context("replica-out");
    auto pause = pause_first;
    std::unique_lock lock(mutex_);
    while (true) {
      woken_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (stopping_) return;
      size_t count = 0;
      const Bytes payload = take(count);
      writing_ = true;
      lock.unlock();
      const bool sent = ensure_connected() && socket_.write_all(encode_frame(FrameKind::messages, payload, compressor_.get()));
      if (!sent) owner_.tell_unreachable(to_);
      lock.lock();
      writing_ = false;
      if (sent) {
        pause = pause_first;
        continue;
      }
      owner_.lost_ += static_cast<int64_t>(count + queue_.size());
      queue_.clear();
      queue_bytes_ = 0;
      socket_ = Socket();
      woken_.wait_for(lock, pause, [this] { return stopping_; });
      pause = std::min(pause * 2, pause_max);
    }
  }

  Bytes take(size_t& count) {
    Bytes payload;
    while (!queue_.empty() && (payload.empty() || payload.size() + queue_.front().size() < frame_bytes_wanted)) {
      append_message(payload, queue_.front());
      queue_bytes_ -= queue_.front().size();
      queue_.pop_front();
      ++count;
    }
    return payload;
  }

  bool ensure_connected() {
    // What went to a connection that the other side has closed may be lost, and a write would only tell the next time.
    if (socket_.open() && socket_.closed_by_peer()) return false;
    if (socket_.open()) return true;
    Socket fresh = connect_to(host_, port_, connect_ms);
    if (!fresh.open()) return false;
    fresh.set_timeouts(0, write_stall_ms);
    fresh.set_patience(write_stall_ms);
    const Hello hello{owner_.options_.set_name, owner_.options_.self, to_, number_};
    if (!fresh.write_all(encode_frame(FrameKind::hello, encode_hello(hello)))) return false;
    std::lock_guard lock(mutex_);
    if (stopping_) return false;
    socket_ = std::move(fresh);
    compressor_ = owner_.options_.compress && number_ == bulk_lane ? std::make_unique<FrameCompressor>() : nullptr;
    return true;
  }

  TcpTransport& owner_;
  const MemberId to_;
  const uint32_t number_;
  const std::string host_;
  const uint16_t port_;
  mutable std::mutex mutex_;
  std::condition_variable woken_;
  std::deque<Bytes> queue_;
  bool writing_ = false;  // what was taken off the queue
  uint64_t queue_bytes_ = 0;
  bool stopping_ = false;
  Socket socket_;                                // replaced by the lane's thread alone, under mutex_
  std::unique_ptr<FrameCompressor> compressor_;  // of this connection; the lane's thread's
  std::thread thread_;
};

struct TcpTransport::Peer {
  std::string host;
  uint16_t port;
  Lane control;
  Lane bulk;
  Peer(TcpTransport& owner, MemberId id, const std::string& at, uint16_t on)
      : host(at), port(on), control(owner, id, control_lane, at, on), bulk(owner, id, bulk_lane, at, on) {}
};

struct TcpTransport::Connection {
  Socket socket;
  Bytes already_read;
  std::thread thread;
  std::atomic<bool> over{false};
};

TcpTransport::TcpTransport(const TcpOptions& options) : options_(options) {
  if (!options.listen) return;
  listener_ = listen_on(options.host, options.port);
  port_ = port_of(listener_);
  acceptor_ = std::thread([this] { accept_loop(); });
}

TcpTransport::~TcpTransport() {
  set_receiver(nullptr);
  std::map<MemberId, std::shared_ptr<Peer>> peers;
  std::list<std::unique_ptr<Connection>> connections;
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    listener_.shut_down();
  }
  if (acceptor_.joinable()) acceptor_.join();
  {
    std::lock_guard lock(mutex_);
    peers.swap(peers_);
    connections.swap(connections_);
  }
  for (auto& connection : connections) connection->socket.shut_down();
  for (auto& connection : connections) connection->thread.join();
}

void TcpTransport::set_receiver(MessageReceiver* receiver) {
  std::unique_lock lock(receiver_mutex_);
  receiver_ = receiver;
  receiver_idle_.wait(lock, [this] { return receiving_ == 0; });
}

void TcpTransport::set_peer(MemberId id, const std::string& host, uint16_t port) {
  std::shared_ptr<Peer> before;  // let go of outside the lock: its threads are joined
  {
    std::lock_guard lock(mutex_);
    const auto known = peers_.find(id);
    if (known != peers_.end() && known->second->host == host && known->second->port == port) return;
  }
  const auto fresh = std::make_shared<Peer>(*this, id, host, port);
  std::lock_guard lock(mutex_);
  std::shared_ptr<Peer>& place = peers_[id];
  before = std::exchange(place, fresh);
}

void TcpTransport::remove_peer(MemberId id) {
  std::shared_ptr<Peer> before;
  std::lock_guard lock(mutex_);
  if (const auto found = peers_.find(id); found != peers_.end()) {
    before = std::move(found->second);
    peers_.erase(found);
  }
}

void TcpTransport::send(std::vector<Outgoing> messages) {
  std::set<MemberId> full;
  for (Outgoing& message : messages) {
    std::shared_ptr<Peer> peer;
    {
      std::lock_guard lock(mutex_);
      if (const auto found = peers_.find(message.to); found != peers_.end()) peer = found->second;
    }
    Lane* lane = !peer ? nullptr : message.bulk ? &peer->bulk : &peer->control;
    if (lane && lane->push(std::move(message.bytes))) continue;
    ++lost_;
    if (lane) full.insert(message.to);
  }
  for (const MemberId to : full) tell_unreachable(to);
}

bool TcpTransport::under_way(MemberId to) const {
  std::shared_ptr<Peer> peer;
  {
    std::lock_guard lock(mutex_);
    if (const auto found = peers_.find(to); found != peers_.end()) peer = found->second;
  }
  return peer && peer->bulk.under_way();
}

int64_t TcpTransport::lost() const {
  return lost_;
}

void TcpTransport::accept_loop() {
  base::LogContext context("replica-listener");
  while (true) {
    Socket socket(::accept4(listener_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
    {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
    }
    // Out of descriptors, most likely.
    if (!socket.open())
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    else
      welcome(std::move(socket), {});
  }
}

void TcpTransport::adopt(int descriptor, Bytes already_read) {
  Socket socket(descriptor);
  const int flags = ::fcntl(descriptor, F_GETFL), on = 1;
  if (flags < 0 || ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) != 0) return;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  welcome(std::move(socket), std::move(already_read));
}

void TcpTransport::welcome(Socket socket, Bytes already_read) {
  std::list<std::unique_ptr<Connection>> over;
  {
    std::lock_guard lock(mutex_);
    if (stopping_) return;
    for (auto at = connections_.begin(); at != connections_.end();) {
      const auto next = std::next(at);
      if ((*at)->over) over.splice(over.end(), connections_, at);
      at = next;
    }
    if (static_cast<int>(connections_.size()) < options_.connections_max) {
      connections_.push_back(std::make_unique<Connection>());
      Connection& connection = *connections_.back();
      connection.socket = std::move(socket);
      connection.already_read = std::move(already_read);
      connection.thread = std::thread([this, &connection] { serve(connection); });
    }
  }
  for (auto& connection : over) connection->thread.join();
}

void TcpTransport::serve(Connection& connection) {
  base::LogContext context("replica-in");
  Socket& socket = connection.socket;
  Incoming incoming(socket, std::move(connection.already_read));
  FrameDecompressor decompressor;
  socket.set_timeouts(greeting_ms, write_stall_ms);
  MemberId from = 0;
  if (const auto frame = read_frame(incoming, decompressor); frame && frame->first == FrameKind::hello) {
    const base::Result<Hello> hello = decode_hello(frame->second);
    const bool ours = hello && hello.value().set_name == options_.set_name && hello.value().to == options_.self &&
                      hello.value().from != options_.self;
    if (ours) from = hello.value().from;
  }
  if (from == 0) {
    base::log(base::Severity::info, base::LogComponent::repl, 7100010,
              "Turned away a connection that is no member's of this set");
  } else {
    socket.set_timeouts(0, write_stall_ms);
    while (const auto frame = read_frame(incoming, decompressor)) {
      if (frame->first != FrameKind::messages) break;
      BytesView payload = frame->second;
      std::optional<BytesView> message;
      while (!payload.empty() && (message = take_message(payload))) deliver(from, *message);
      if (!payload.empty()) break;
    }
  }
  socket.shut_down();
  connection.over = true;
}

void TcpTransport::deliver(MemberId from, BytesView message) {
  std::unique_lock lock(receiver_mutex_);
  MessageReceiver* receiver = receiver_;
  if (!receiver) return;
  ++receiving_;
  lock.unlock();
  receiver->received(from, message);
  lock.lock();
  if (--receiving_ == 0) receiver_idle_.notify_all();
}

void TcpTransport::tell_unreachable(MemberId to) {
  std::unique_lock lock(receiver_mutex_);
  MessageReceiver* receiver = receiver_;
  if (!receiver) return;
  ++receiving_;
  lock.unlock();
  receiver->unreachable(to);
  lock.lock();
  if (--receiving_ == 0) receiver_idle_.notify_all();
}

}  // namespace replication::consensus
