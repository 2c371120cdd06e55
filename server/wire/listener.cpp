#include "server/wire/listener.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/v6_only.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>
#include <atomic>
#include <condition_variable>
#include <future>
#include <set>
#include <thread>

#include "base/clock_time.h"
#include "base/descriptors.h"
#include "base/log.h"
#include "base/mutex.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/topology.h"
#include "server/wire/reactors.h"
#include "server/wire/session.h"

namespace server::wire {

using asio::ip::tcp;
using base::Attributes;
using base::LogComponent;
using base::Severity;
using Local = asio::local::stream_protocol;

namespace {

constexpr auto accept_pause = std::chrono::milliseconds(50);  // when descriptors run out
// Members can connect even if clients fill the server: this many connections beyond the limit may wait for their first bytes.
constexpr int undecided_max = 64;
constexpr auto closing_round = std::chrono::milliseconds(2);  // commands that began meanwhile are killed, too
constexpr auto undecided_patience = std::chrono::seconds(1);
constexpr auto answers_out_max = std::chrono::seconds(1);  // how long replies may take when the listener stops

Reactors::Size size_of(const Options& options) {
  Reactors::Size size;
  size.reactors =
      options.io_threads > 0 ? options.io_threads : std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 64);
  size.reserved = std::max(32, 2 * size.reactors);  // each reactor needs one that is free
  return size;
}

std::string text_of(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return (endpoint.address().is_v6() ? "[" + address + "]" : address) + ":" + std::to_string(endpoint.port());
}

}  // namespace

struct Listener::State {
  State(Services& given_services, Dispatcher& given_dispatcher)
      : services(given_services), dispatcher(given_dispatcher), options(given_services.options), reactors(size_of(options)) {}

  void bind_all();
  void bind_tcp(const std::string& host);
  void bind_local(const std::string& path);
  template <class Acceptor>
  asio::awaitable<void> accept_all(Acceptor& acceptor);
  void welcome(size_t reactor, Session::Socket socket, std::string remote, std::string local, bool unix_socket);
  asio::awaitable<void> serve(size_t reactor, std::shared_ptr<Session> session);
  asio::awaitable<void> serve_member(size_t reactor, std::shared_ptr<Session> session);
  void enter(const std::shared_ptr<Session>& session);
  void leave(size_t reactor, const std::shared_ptr<Session>& session);
  void refuse(const std::string& remote);
  void close_all();

  Services& services;
  Dispatcher& dispatcher;
  const Options& options;
  int port = 0;
  std::string unix_path;
  Reactors reactors;
  base::Mutex mutex;
  base::Condition left;  // a session is over
  std::set<std::shared_ptr<Session>> sessions GUARDED_BY(mutex);
  // All acceptors run on the first reactor.
  std::vector<tcp::acceptor> tcp_acceptors;
  std::vector<Local::acceptor> local_acceptors;
  std::atomic<int64_t> last_client{0};
  std::atomic<int64_t> open{0};
  std::atomic<int> undecided{0};  // connections beyond the limit, which aren't in `open`
  std::atomic<bool> stopping{false};
  bool started = false;
};

Listener::Listener(Services& services, Dispatcher& dispatcher) : state_(std::make_unique<State>(services, dispatcher)) {}
Listener::~Listener() {
  stop();
}

int Listener::port() const {
  return state_->port;
}
std::string Listener::unix_socket_path() const {
  return state_->unix_path;
}

void Listener::start() {
  state_->bind_all();
  state_->started = true;
  auto& first = state_->reactors.context(0);
  for (auto& acceptor : state_->tcp_acceptors) asio::co_spawn(first, state_->accept_all(acceptor), asio::detached);
  for (auto& acceptor : state_->local_acceptors) asio::co_spawn(first, state_->accept_all(acceptor), asio::detached);
  state_->reactors.start();
  base::log(Severity::info, LogComponent::network, 23016, "Waiting for connections",
            Attributes().add("port", state_->port).add("ssl", state_->services.tls ? "on" : "off"));
}

// ---- binding -------------------------------------------------------------------

void Listener::State::bind_all() {
  port = options.port;
  for (const auto& name : options.bind_ip) {
    if (name == "*" || name == "::,0.0.0.0") {
      bind_tcp("0.0.0.0");
      if (options.ipv6) bind_tcp("::");
    } else if (name.starts_with("/")) {
      bind_local(name);
    } else if (name == "localhost") {
      bind_tcp("127.0.0.1");
      if (options.ipv6) bind_tcp("::1");
    } else {
      bind_tcp(name);
    }
  }
  if (options.unix_socket && unix_path.empty()) {
    bind_local(options.unix_socket_prefix + "/mongodb-" + std::to_string(port) + ".sock");
  }
}

void Listener::State::bind_tcp(const std::string& host) {
  auto& context = reactors.context(0);
  asio::error_code error;
  const auto found = tcp::resolver(context).resolve(host, std::to_string(port), tcp::resolver::passive, error);
  if (error) throw std::system_error(error.value(), error.category(), host);
  for (const auto& entry : found) {
    tcp::endpoint endpoint = entry.endpoint();
    if (endpoint.address().is_v6() && !options.ipv6) continue;
    tcp::acceptor acceptor(context, endpoint.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(true));
    endpoint.port(static_cast<uint16_t>(port));
    if (acceptor.bind(endpoint, error)) throw std::system_error(error.value(), error.category(), text_of(endpoint));
    if (acceptor.listen(asio::socket_base::max_listen_connections, error)) {
      throw std::system_error(error.value(), error.category(), text_of(endpoint));
    }
    if (port == 0) port = acceptor.local_endpoint().port();
    base::log(Severity::info, LogComponent::network, 23015, "Listening on",
              Attributes().add("address", endpoint.address().to_string()));
    tcp_acceptors.push_back(std::move(acceptor));
  }
}

void Listener::State::bind_local(const std::string& path) {
  // A socket file on which nobody answers was left by a killed server.
  ::unlink(path.c_str());
  asio::error_code error;
  Local::acceptor acceptor(reactors.context(0), Local());
  if (acceptor.bind(Local::endpoint(path), error) || acceptor.listen(asio::socket_base::max_listen_connections, error)) {
    throw std::system_error(error.value(), error.category(), path);
  }
  ::chmod(path.c_str(), static_cast<mode_t>(options.unix_socket_permissions));
  unix_path = path;
  base::log(Severity::info, LogComponent::network, 23015, "Listening on", Attributes().add("address", path));
  local_acceptors.push_back(std::move(acceptor));
}

// ---- serving -------------------------------------------------------------------

template <class Acceptor>
asio::awaitable<void> Listener::State::accept_all(Acceptor& acceptor) {
  constexpr bool local = std::is_same_v<Acceptor, Local::acceptor>;
  while (!stopping) {
    const size_t reactor = reactors.join();
    typename Acceptor::protocol_type::socket socket(reactors.context(reactor));
    asio::error_code error;
    co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (stopping) break;
    if (error) {
      reactors.leave(reactor);
      if (error == asio::error::connection_aborted) continue;
      base::log(Severity::error, LogComponent::network, 23019, "Error accepting new connection",
                Attributes().add("error", error.message()));
      asio::steady_timer pause(acceptor.get_executor(), accept_pause);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    std::string remote = "anonymous unix socket";
    std::string here = unix_path;
    if constexpr (!local) {
      socket.set_option(tcp::no_delay(true), error);
      socket.set_option(asio::socket_base::keep_alive(true), error);
      const auto peer = socket.remote_endpoint(error);
      if (error) {
        reactors.leave(reactor);
        continue;
      }
      remote = text_of(peer);
      here = text_of(socket.local_endpoint(error));
    }
    base::LogContext context("listener");
    try {
      welcome(reactor, Session::Socket(std::move(socket)), std::move(remote), std::move(here), local);
    } catch (const std::bad_alloc&) {
      reactors.leave(reactor);
      base::log(Severity::error, LogComponent::network, 23019, "Error accepting new connection",
                Attributes().add("error", "out of memory"));
    }
  }
}

void Listener::State::welcome(size_t reactor, Session::Socket socket, std::string remote, std::string local, bool unix_socket) {
  if (base::descriptors_are_short()) {
    reactors.leave(reactor);
    return refuse(remote);
  }
  if (open >= options.max_conns) {
    if (!services.peer_connection || unix_socket || undecided >= undecided_max) {
      reactors.leave(reactor);
      return refuse(remote);
    }
    ++undecided;
    auto session = std::make_shared<Session>(services, dispatcher, std::move(socket), ClientId{0}, std::move(remote),
                                             std::move(local), unix_socket);
    asio::co_spawn(reactors.context(reactor), serve_member(reactor, std::move(session)), asio::detached);
    return;
  }
  const int64_t number = ++last_client;
  auto session = std::make_shared<Session>(services, dispatcher, std::move(socket), static_cast<ClientId>(number), remote,
                                           std::move(local), unix_socket);
  const int64_t count = ++open;
  services.metrics.connections.current.add(1);
  services.metrics.connections.created.add();
  if (!base::log_quiet()) {
    base::log(Severity::info, LogComponent::network, 22943, "Connection accepted",
              Attributes().add("remote", remote).add("connectionId", number).add("connectionCount", count));
  }
  asio::co_spawn(reactors.context(reactor), serve(reactor, std::move(session)), asio::detached);
}

void Listener::State::refuse(const std::string& remote) {
  services.metrics.connections.rejected.add();
  base::log(Severity::info, LogComponent::network, 22942, "Connection refused because there are too many open connections",
            Attributes().add("remote", remote).add("connectionCount", open.load()));
}

// Serves a connection when clients fill the server: it must be a member's.
asio::awaitable<void> Listener::State::serve_member(size_t reactor, std::shared_ptr<Session> session) {
  enter(session);
  asio::steady_timer patience(reactors.context(reactor), undecided_patience);
  patience.async_wait([waiting = std::weak_ptr<Session>(session)](asio::error_code ended) {
    const auto late = waiting.lock();
    if (!ended && late) late->close();
  });
  co_await session->serve(true);
  patience.cancel();
  leave(reactor, session);
  if (!session->was_handed_over()) refuse(session->client().remote());
  --undecided;
}

void Listener::State::enter(const std::shared_ptr<Session>& session) {
  const base::MutexLock lock(mutex);
  sessions.insert(session);
  if (stopping) session->close();
}

void Listener::State::leave(size_t reactor, const std::shared_ptr<Session>& session) {
  reactors.leave(reactor);
  const base::MutexLock lock(mutex);
  sessions.erase(session);
  left.notify_all();
}

asio::awaitable<void> Listener::State::serve(size_t reactor, std::shared_ptr<Session> session) {
  enter(session);
  co_await session->serve();
  leave(reactor, session);
  const int64_t count = --open;
  services.metrics.connections.current.add(-1);
  if (session->was_handed_over()) services.metrics.connections.created.add(-1);
  if (!base::log_quiet()) {
    base::LogContext context(session->client().description());
    base::log(Severity::info, LogComponent::network, 22944,
              session->was_handed_over() ? "Connection is a member's" : "Connection ended",
              Attributes()
                  .add("remote", session->client().remote())
                  .add("connectionId", static_cast<int64_t>(session->client().id()))
                  .add("connectionCount", count));
  }
}

// ---- stopping ------------------------------------------------------------------

void Listener::State::close_all() {
  std::promise<void> accepting_ended;
  asio::post(reactors.context(0), [&] {
    asio::error_code ignored;
    for (auto& acceptor : tcp_acceptors) acceptor.close(ignored);
    for (auto& acceptor : local_acceptors) acceptor.close(ignored);
    accepting_ended.set_value();
  });
  accepting_ended.get_future().wait();
  // Replies that are being sent are completed if the client takes them.
  const auto patience = base::now(services.clock) + answers_out_max;
  while (open > 0 || undecided > 0) {
    services.operations.kill_all(base::ErrorCode::interrupted_at_shutdown);
    const auto close = base::now(services.clock) < patience ? &Session::end : &Session::close;
    base::MutexLock lock(mutex);
    for (const auto& session : sessions) ((*session).*close)();
    left.wait_for(lock, closing_round);
  }
}

void Listener::stop() {
  if (!state_->started || state_->stopping.exchange(true)) return;
  state_->close_all();
  state_->reactors.stop();
  if (!state_->unix_path.empty()) ::unlink(state_->unix_path.c_str());
}

}  // namespace server::wire
