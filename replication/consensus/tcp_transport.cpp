#include "replication/consensus/tcp_transport.h"

#include <unistd.h>

#include <algorithm>
#include <asio/executor_work_guard.hpp>
#include <asio/strand.hpp>
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "base/mutex.h"
#include "replication/consensus/socket_state.h"
#include "replication/consensus/tcp_connection.h"
#include "replication/consensus/tcp_lane.h"

namespace replication::consensus {

using asio::ip::tcp;
using ConnectionPtr = std::shared_ptr<TcpConnection>;
using Socket = TcpConnection::Protocol::socket;

namespace {

constexpr uint32_t control_lane = 0, bulk_lane = 1;
constexpr std::chrono::milliseconds accept_pause(10);  // while descriptors are short
constexpr unsigned bulk_threads_min = 2, bulk_threads_max = 8;
constexpr size_t name_threads = 8;  // a minority of the members may have names that take seconds, on both lanes

struct Peer {
  std::string host;
  uint16_t port;
  std::shared_ptr<TcpLane> control, bulk;
};

// A context and the threads that run it.
class Threads {
 public:
  Threads(unsigned count, const char* name) : context_(static_cast<int>(count)) {
    for (unsigned i = 0; i < count; ++i) {
      threads_.emplace_back([this, name] {
        base::LogContext log_context(name);
        context_.run();
      });
    }
  }
  ~Threads() { stop(); }
  void stop() {
    context_.stop();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  asio::io_context& context() { return context_; }

 private:
  asio::io_context context_;
  asio::executor_work_guard<asio::io_context::executor_type> work_{context_.get_executor()};
  std::vector<std::thread> threads_;
};

tcp::acceptor listen_on(asio::io_context& context, const std::string& host, uint16_t port) {
  asio::error_code error;
  for (const auto& found : tcp::resolver(context).resolve(host, std::to_string(port), tcp::resolver::passive, error)) {
    tcp::acceptor acceptor(asio::make_strand(context));
    if (acceptor.open(found.endpoint().protocol(), error)) continue;
    if (acceptor.set_option(tcp::acceptor::reuse_address(true), error)) continue;
    if (acceptor.bind(found.endpoint(), error) || acceptor.listen(asio::socket_base::max_listen_connections, error)) continue;
    return acceptor;
  }
  throw base::OperationError(base::ErrorCode::host_unreachable,
                             "cannot listen on " + host + ":" + std::to_string(port) + ": " + error.message());
}

}  // namespace

class TcpTransport::Network final : public TcpConnection::Owner {
 public:
  explicit Network(const TcpOptions& options)
      : options_(options),
        control_(1, "replica-control"),
        bulk_(std::clamp(std::thread::hardware_concurrency(), bulk_threads_min, bulk_threads_max), "replica-bulk"),
        names_(name_threads) {
    if (!options.listen) return;
    acceptor_.emplace(listen_on(control_.context(), options.host, options.port));
    port_ = acceptor_->local_endpoint().port();
    accept_next();
  }

  ~Network() override {
    set_receiver(nullptr);
    {
      const base::MutexLock lock(mutex_);
      stopping_ = true;
    }
    control_.stop();
    bulk_.stop();
    names_.stop();
    names_.join();
  }

  void set_receiver(MessageReceiver* receiver) {
    base::MutexLock lock(receiver_mutex_);
    receiver_ = receiver;
    receiver_idle_.wait(lock, [this]() REQUIRES(receiver_mutex_) { return receiving_ == 0; });
  }

  void set_peer(MemberId id, const std::string& host, uint16_t port) {
    Peer before;
    {
      const base::MutexLock lock(mutex_);
      Peer& peer = peers_[id];
      if (peer.control && peer.host == host && peer.port == port) return;
      before = std::exchange(peer, {host, port, lane_to(id, host, port, control_lane), lane_to(id, host, port, bulk_lane)});
    }
    close(before);
  }

  void remove_peer(MemberId id) {
    Peer before;
    {
      const base::MutexLock lock(mutex_);
      const auto found = peers_.find(id);
      if (found == peers_.end()) return;
      before = std::move(found->second);
      peers_.erase(found);
    }
    close(before);
  }

  void adopt(int descriptor, std::unique_ptr<base::tls::Stream> tls, Bytes already_read) {
    if (auto socket = own(control_.context(), descriptor)) welcome(std::move(*socket), std::move(tls), std::move(already_read));
  }

  void send(std::vector<Outgoing> messages) {
    std::set<MemberId> full;
    for (Outgoing& message : messages) {
      const std::shared_ptr<TcpLane> lane = find_lane(message.to, message.bulk);
      if (lane && lane->push(std::move(message.bytes))) continue;
      ++lost_;
      if (lane) full.insert(message.to);
    }
    for (const MemberId to : full) report_unreachable(to);
  }

  bool under_way(MemberId to) const {
    const std::shared_ptr<TcpLane> lane = find_lane(to, true);
    return lane && lane->under_way();
  }

  uint16_t port() const { return port_; }
  int64_t lost() const { return lost_; }

 private:
  std::shared_ptr<TcpLane> lane_to(MemberId id, const std::string& host, uint16_t port, uint32_t number) {
    LaneOptions options;
    options.hello = {options_.set_name, options_.self, id, number};
    options.host = host;
    options.port = port;
    options.compress = options_.compress && number == bulk_lane;
    options.queue_bytes_max = options_.queue_bytes_max;
    options.tls = options_.tls;
    options.log_in = options_.log_in;
    asio::io_context& context = number == bulk_lane ? bulk_.context() : control_.context();
    return std::make_shared<TcpLane>(context, names_, std::move(options), [this, id](size_t messages) {
      lost_ += static_cast<int64_t>(messages);
      report_unreachable(id);
    });
  }

  std::shared_ptr<TcpLane> find_lane(MemberId to, bool bulk) const {
    const base::MutexLock lock(mutex_);
    const auto found = peers_.find(to);
    if (found == peers_.end()) return nullptr;
    return bulk ? found->second.bulk : found->second.control;
  }

  static void close(Peer& peer) {
    if (!peer.control) return;
    peer.control->close();
    peer.bulk->close();
  }

  void accept_next() {
    auto socket = std::make_shared<tcp::socket>(asio::make_strand(control_.context()));
    acceptor_->async_accept(*socket, [this, socket](const asio::error_code& error) {
      if (!error) {
        welcome(Socket(std::move(*socket)), nullptr, {});
        return accept_next();
      }
      // The process is out of descriptors, most likely.
      accept_pause_.expires_after(accept_pause);
      accept_pause_.async_wait([this](const asio::error_code&) { accept_next(); });
    });
  }

  // Takes the descriptor. nullopt: it was no open socket, and is closed.
  static std::optional<Socket> own(asio::io_context& context, int descriptor) {
    asio::error_code error;
    Socket socket(asio::make_strand(context));
    socket.assign(TcpConnection::Protocol(family_of(descriptor), 0), descriptor, error);
    if (!error) return socket;
    ::close(descriptor);
    return std::nullopt;
  }

  void welcome(Socket socket, std::unique_ptr<base::tls::Stream> tls, Bytes already_read) {
    asio::error_code ignored;
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    serve(std::make_shared<TcpConnection>(std::move(socket), std::move(tls), std::move(already_read), MemberId{0}, *this));
  }

  // A connection that nobody serves is closed when it goes.
  void serve(const ConnectionPtr& connection) {
    {
      const base::MutexLock lock(mutex_);
      if (stopping_ || static_cast<int>(connections_.size()) >= options_.connections_max) return;
      connections_.insert(connection);
    }
    connection->start();
  }

  bool accepts(const Hello& hello) const override {
    return hello.set_name == options_.set_name && hello.to == options_.self && hello.from != options_.self && hello.from != 0;
  }

  void greeted(const ConnectionPtr& connection, const Hello& hello, Socket socket, std::unique_ptr<base::tls::Stream> tls,
               Bytes already_read) override {
    ended(connection);
    asio::error_code error;
    const int descriptor = socket.release(error);
    if (error) return;
    asio::io_context& context = hello.lane == bulk_lane ? bulk_.context() : control_.context();
    if (auto moved = own(context, descriptor))
      serve(std::make_shared<TcpConnection>(std::move(*moved), std::move(tls), std::move(already_read), hello.from, *this));
  }

  void received(MemberId from, BytesView message) override {
    with_receiver([&](MessageReceiver& receiver) { receiver.received(from, message); });
  }

  void ended(const ConnectionPtr& connection) override {
    const base::MutexLock lock(mutex_);
    connections_.erase(connection);
  }

  void report_unreachable(MemberId to) {
    with_receiver([&](MessageReceiver& receiver) { receiver.unreachable(to); });
  }

  template <class Call>
  void with_receiver(Call call) {
    base::MutexLock lock(receiver_mutex_);
    MessageReceiver* const receiver = receiver_;
    if (!receiver) return;
    ++receiving_;
    lock.unlock();
    call(*receiver);
    lock.lock();
    if (--receiving_ == 0) receiver_idle_.notify_all();
  }

  const TcpOptions options_;
  std::atomic<int64_t> lost_{0};

  // The contexts stand first, so they are destroyed after all that runs on them, and after what a lookup holds.
  Threads control_, bulk_;
  asio::thread_pool names_;
  uint16_t port_ = 0;
  std::optional<tcp::acceptor> acceptor_;
  asio::steady_timer accept_pause_{control_.context()};

  mutable base::Mutex mutex_;
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::map<MemberId, Peer> peers_ GUARDED_BY(mutex_);
  std::set<ConnectionPtr> connections_ GUARDED_BY(mutex_);  // inbound

  base::Mutex receiver_mutex_;
  base::Condition receiver_idle_;
  MessageReceiver* receiver_ GUARDED_BY(receiver_mutex_) = nullptr;
  int receiving_ GUARDED_BY(receiver_mutex_) = 0;
};

TcpTransport::TcpTransport(const TcpOptions& options) : network_(std::make_unique<Network>(options)) {}
TcpTransport::~TcpTransport() = default;

void TcpTransport::set_receiver(MessageReceiver* receiver) {
  network_->set_receiver(receiver);
}
void TcpTransport::set_peer(MemberId id, const std::string& host, uint16_t port) {
  network_->set_peer(id, host, port);
}
void TcpTransport::remove_peer(MemberId id) {
  network_->remove_peer(id);
}
uint16_t TcpTransport::port() const {
  return network_->port();
}
void TcpTransport::adopt(int descriptor, std::unique_ptr<base::tls::Stream> tls, Bytes already_read) {
  network_->adopt(descriptor, std::move(tls), std::move(already_read));
}
void TcpTransport::send(std::vector<Outgoing> messages) {
  network_->send(std::move(messages));
}
bool TcpTransport::under_way(MemberId to) const {
  return network_->under_way(to);
}
int64_t TcpTransport::lost() const {
  return network_->lost();
}

}  // namespace replication::consensus
