#include "server/wire/session.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <asio/buffer.hpp>
#include <asio/co_spawn.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>
#include <atomic>

#include "base/clock_time.h"
#include "base/log.h"
#include "replication/consensus/frame.h"
#include "replication/coordinator.h"
#include "server/core/command_registry.h"
#include "server/core/memory.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/services.h"
#include "server/core/topology.h"
#include "server/dispatch/set_rules.h"
#include "server/wire/crc32c.h"
#include "server/wire/reactors.h"

namespace server::wire {

using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using base::LogComponent;
using base::Severity;

namespace {

constexpr auto client_disconnect = static_cast<base::ErrorCode>(279);
constexpr size_t read_bytes_min = 1024;       // an idle connection keeps this
constexpr size_t kept_bytes_max = 64 * 1024;  // a larger buffer is released after its message
constexpr size_t growth_max = 4 << 20;        // a length alone reserves no more than this ahead of the bytes
constexpr auto memory_wait_max = std::chrono::seconds(10);
constexpr auto memory_wait_step = std::chrono::milliseconds(20);
constexpr auto forgotten_after = std::chrono::milliseconds(1000);
constexpr size_t stranger_bytes_max = 1 << 20;  // a handshake and a login need far less
// A connection that waits without a thread looks this often whether its client is there. The socket wakes it when the client
// leaves or sends another request; after such a request, it isn't seen any more that the client leaves. Many drivers have a
// connection that awaits hellos, so the longest pause is long.
constexpr auto look_interval_min = std::chrono::milliseconds(20), look_interval_max = std::chrono::milliseconds(2000);

int32_t next_message_id() {
  static std::atomic<uint32_t> last{0};
  return static_cast<int32_t>(last.fetch_add(1, std::memory_order_relaxed) & 0x7fffffff);
}

// getMore streams as long as its cursor lives; other commands ask for it themselves.
std::optional<bson::Document> next_invocation(const Request& request, Dispatcher::Reply& reply) {
  if (reply.next_invocation) return std::move(reply.next_invocation);
  if (request.command != "getMore" || !reply.ok) return std::nullopt;
  const auto cursor = reply.body.find("cursor");
  if (!cursor.is_object() || cursor.as_document().find("id").to_int64() == 0) return std::nullopt;
  return bson::Document(request.body);
}

Metrics::Network::Compressor& counters_of(Metrics& metrics, Compressor compressor) {
  if (compressor == Compressor::zstd) return metrics.network.zstd;
  return compressor == Compressor::zlib ? metrics.network.zlib : metrics.network.snappy;
}

// Returns whether it is a $currentOp, and nothing behind it reads or writes anything else.
bool lists_operations(const Request& request) {
  if (request.command != "aggregate" || request.db != "admin") return false;
  const auto pipeline = request.body.find("pipeline");
  if (!pipeline.is_array() || pipeline.as_document().empty()) return false;
  static constexpr std::string_view behind =
      " $match $project $addFields $set $unset $sort $limit $skip $group $count $sortByCount ";
  bool first = true;
  for (const bson::Element& stage : pipeline.as_document()) {
    if (!stage.is_object()) return false;
    const std::string_view name = stage.as_document().first().name;
    if (first ? name != "$currentOp" : behind.find(" " + std::string(name) + " ") == behind.npos) return false;
    first = false;
  }
  return true;
}

// By the urgent ones somebody finds out what blocks all other commands, and ends it, and a set stays one.
Places::Use use_of(const Request& request) {
  static constexpr std::string_view urgent =
      " authenticate buildInfo connectionStatus currentOp fsyncUnlock getLog getParameter hello isMaster ismaster killOp "
      "lockInfo logout ping replSetFreeze replSetGetStatus replSetHeartbeat saslContinue saslStart serverStatus shutdown ";
  static constexpr std::string_view ending =
      " abortTransaction commitTransaction endSessions killAllSessions killAllSessionsByPattern killCursors killSessions "
      "replSetStepDown ";
  const std::string name = " " + std::string(request.command) + " ";
  if (urgent.find(name) != urgent.npos) return Places::Use::urgent;
  if (ending.find(name) != ending.npos) return Places::Use::ending;
  return lists_operations(request) ? Places::Use::urgent : Places::Use::ordinary;
}

size_t places_bytes(const Decoded& decoded) {
  const auto* message = std::get_if<Message>(&decoded);
  size_t bytes = 0;
  if (message) {
    for (const auto& sequence : message->request.sequences)
      bytes += sequence.documents.capacity() * sizeof sequence.documents.front();
  }
  return bytes;
}

struct HeldBytes {
  HeldBytes(MemoryPool& from, size_t count) : pool(from), bytes(count) {
    if (bytes > 0) pool.take_anyway(bytes);
  }
  ~HeldBytes() {
    if (bytes > 0) pool.give_back(bytes);
  }
  HeldBytes(const HeldBytes&) = delete;
  HeldBytes& operator=(const HeldBytes&) = delete;
  MemoryPool& pool;
  size_t bytes;
};

constexpr std::string_view http_request = "GET ";
constexpr std::string_view http_text = "It looks like you are trying to access MongoDB over HTTP on the native driver port.\r\n";
constexpr std::string_view tls_handshake = "\x16\x03";  // a record of type handshake, of TLS 1.x or SSL 3

}  // namespace

// A pause is a coroutine's wait that any thread may end early, or interrupt for a look at the client. It is made by make_shared.
class Pause : public std::enable_shared_from_this<Pause> {
 public:
  explicit Pause(Session::Socket::executor_type executor) : timer_(executor) {}

  void end() {
    const base::MutexLock lock(mutex_);
    ended_ = true;
    timer_.cancel();
  }
  bool ended() {
    const base::MutexLock lock(mutex_);
    return ended_;
  }
  void ask_to_look() {
    const base::MutexLock lock(mutex_);
    look_ = true;
    timer_.cancel();
  }
  // Returns whether somebody has asked for a look since the last call.
  bool asked_to_look() {
    const base::MutexLock lock(mutex_);
    return std::exchange(look_, false);
  }

  awaitable<void> wait(std::chrono::milliseconds most) {
    auto start = [pause = shared_from_this(), most](auto handler) { pause->begin(pause, most, std::move(handler)); };
    asio::error_code ended;
    auto token = redirect_error(use_awaitable, ended);
    co_await asio::async_initiate<decltype(token), void(asio::error_code)>(std::move(start), token);
  }

 private:
  // As soon as the wait has begun another thread may end it and go on with the coroutine, to its end. `alive` is this object,
  // which lives until the lock is released.
  template <class Handler>
  void begin(std::shared_ptr<Pause> alive, std::chrono::milliseconds most, Handler handler) {
    const base::MutexLock lock(mutex_);
    timer_.expires_after(ended_ || look_ ? std::chrono::milliseconds(0) : most);
    timer_.async_wait(std::move(handler));
    (void)alive;
  }

  base::Mutex mutex_;
  bool ended_ GUARDED_BY(mutex_) = false;
  bool look_ GUARDED_BY(mutex_) = false;
  asio::steady_timer timer_ GUARDED_BY(mutex_);
};

Session::Session(Services& services, Dispatcher& dispatcher, Socket socket, ClientId id, std::string remote, std::string local,
                 bool unix_socket)
    : services_(services),
      dispatcher_(dispatcher),
      metrics_(services.metrics),
      socket_(std::move(socket)),
      client_(id, std::move(remote), std::move(local), unix_socket) {
  services_.operations.add_client(client_);
}

Session::~Session() {
  give_back_memory();
  services_.operations.remove_client(client_);
}

// The coroutine sees the end of the stream, or can't write any more, and finishes.
void Session::close() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  if (!finished_) ::shutdown(socket_.native_handle(), SHUT_RDWR);
  if (pause_) pause_->end();
}

void Session::end() {
  if (!answering_) return close();
  const base::MutexLock lock(mutex_);
  ending_ = true;
  if (pause_) pause_->end();
}

void Session::finish() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  if (std::exchange(finished_, true)) return;
  if (tls_) tls_->close_notify();
  asio::error_code ignored;
  socket_.shutdown(Socket::shutdown_both, ignored);
  socket_.close(ignored);
}

awaitable<void> Session::serve(bool members_only) {
  auto self = shared_from_this();
  members_only_ = members_only;
  in_.resize(read_bytes_min);
  asio::error_code ignored;
  socket_.non_blocking(true, ignored);
  try {
    // The handshake is a part of the connection's own coroutine: nobody else waits for it.
    const bool begun = !services_.tls || co_await begin_tls();
    while (begun && !ending_ && co_await read_message()) {
      answering_ = true;
      metrics_.network.physical_in.add(static_cast<int64_t>(message_bytes_));
      if (!co_await handle(BytesView(in_).substr(0, message_bytes_))) break;
      drop_message();
      answering_ = false;
    }
  } catch (const std::exception& error) {
    // If memory runs out for one connection, that connection alone ends.
    base::log(Severity::error, LogComponent::network, 22989, "Error serving a connection",
              base::Attributes().add("error", error.what()));
  }
  finish();
}

// The connection is handed over as it is, with the bytes read from it.
void Session::hand_over() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  if (std::exchange(finished_, true)) return;
  asio::error_code error;
  const int descriptor = socket_.release(error);
  if (error) return;
  handed_over_ = true;
  in_.resize(filled_);
  if (services_.peer_connection)
    services_.peer_connection(descriptor, std::move(tls_), std::move(in_));
  else
    ::close(descriptor);
}

awaitable<bool> Session::read_message() {
  message_bytes_ = 0;
  std::optional<Header> header;
  // A client that sends many messages at once takes turns with the other connections.
  if (filled_ > 0) co_await asio::post(socket_.get_executor(), use_awaitable);
  for (;;) {
    const Start start = header ? Start::goes_on : judge_start(header);
    if (start == Start::http) co_await answer_http();
    if (start != Start::goes_on) co_return false;
    const size_t need = header ? static_cast<size_t>(header->length) : header_bytes;
    if (header && filled_ >= need) {
      message_bytes_ = need;
      co_return true;
    }
    // The buffer grows with the bytes that arrived: a length alone reserves no memory.
    if (filled_ == in_.size()) {
      const size_t bytes = std::min(std::max(need, read_bytes_min), filled_ + std::max(filled_, growth_max));
      if (!co_await take_memory(bytes, taken_)) co_return false;
      in_.resize(bytes);
    }
    asio::error_code error;
    const asio::mutable_buffer room(in_.data() + filled_, in_.size() - filled_);
    size_t received = 0;
    if (tls_)
      received = co_await receive_tls(room, error);
    else
      received = co_await socket_.async_read_some(room, redirect_error(use_awaitable, error));
    filled_ += received;
    if (error || closed_) {
      const bool cut_short = !closed_ && filled_ > 0;
      if (cut_short && base::log_enabled(Severity::debug1, LogComponent::network))
        log_malformed("connection ended inside a message: " + error.message());
      co_return false;
    }
  }
}

bool Session::is_member() const {
  const access::AuthorityPtr authority = client_.authority();
  return authority && authority->internal;
}

// The first bytes are judged before the rest is waited for.
Session::Start Session::judge_start(std::optional<Header>& header) {
  const BytesView start = BytesView(in_).substr(0, filled_);
  if ((undecided_ || services_.options.authorization) && filled_ >= sizeof replication::consensus::frame_magic) {
    const bool member = base::load_le<uint32_t>(in_.data()) == replication::consensus::frame_magic;
    // With access control, a member logs in first, as a client does.
    const bool admitted = (!member && !members_only_) || !services_.options.authorization || is_member();
    if (member && admitted) hand_over();
    if (member && !admitted) log_malformed("a member's connection didn't log in");
    if (member || (members_only_ && admitted)) return Start::over;
    if (undecided_ && start.starts_with(http_request)) return Start::http;
    undecided_ = false;
  }
  if (filled_ < header_bytes) return Start::goes_on;
  auto decoded = decode_request_header(start.substr(0, header_bytes));
  if (!decoded) {
    const bool tls = start.starts_with(tls_handshake);
    log_malformed(tls ? "SSL handshake received but server is started without SSL support" : decoded.failure().message);
    return Start::over;
  }
  header = *decoded;
  return Start::goes_on;
}

// A browser gets a line that a person can read.
awaitable<void> Session::answer_http() {
  log_malformed("HTTP request on the native driver port");
  const std::string answer =
      "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(http_text.size()) +
      "\r\n\r\n" + std::string(http_text);
  asio::error_code error;
  if (tls_)
    co_await send_tls(answer, error);
  else
    co_await asio::async_write(socket_, asio::buffer(answer), redirect_error(use_awaitable, error));
}

awaitable<bool> Session::take_memory(size_t bytes, size_t& taken) {
  if (bytes <= kept_bytes_max || bytes <= taken) co_return true;
  asio::steady_timer timer(socket_.get_executor());
  for (auto waited = std::chrono::milliseconds(0); !services_.memory.take_for_message(bytes - taken);
       waited += memory_wait_step) {
    if (closed_ || ending_) co_return false;
    if (waited >= memory_wait_max) {
      log_malformed("there is no memory for a message of " + std::to_string(bytes) + " bytes");
      co_return false;
    }
    timer.expires_after(memory_wait_step);
    asio::error_code ignored;
    co_await timer.async_wait(redirect_error(use_awaitable, ignored));
  }
  taken = bytes;
  co_return true;
}

void Session::give_back_memory() {
  if (taken_ > 0) services_.memory.give_back(std::exchange(taken_, 0));
}

void Session::drop_message() {
  const size_t left = filled_ - message_bytes_;
  if (left > 0) std::memmove(in_.data(), in_.data() + message_bytes_, left);
  filled_ = left;
  if (in_.size() > kept_bytes_max && left <= read_bytes_min) {
    Bytes small(in_.data(), left);
    small.resize(read_bytes_min);
    in_ = std::move(small);
    in_.shrink_to_fit();
    give_back_memory();
  }
  if (reply_memory_.capacity() > kept_bytes_max) reply_memory_ = {};
}

void Session::log_malformed(std::string_view why) {
  base::log(Severity::warning, LogComponent::network, 22988, "Error receiving request from client. Ending connection from remote",
            base::Attributes()
                .add("error", why)
                .add("remote", client_.remote())
                .add("connectionId", static_cast<int64_t>(client_.id())));
}

bool Session::is_stranger() const {
  return services_.options.authorization && !client_.authority();
}

// This is judged before anything is unpacked: a few kilobytes may have a thousand times as many inside.
bool Session::may_unpack(const Wrapping& wrapping) {
  const auto& allowed = services_.options.compressors;
  const auto name = compressor_name(wrapping.compressor);
  if (wrapping.compressor != Compressor::none && std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
    log_malformed("compressor " + std::string(name) + " is disabled here");
    return false;
  }
  if (is_stranger() && wrapping.raw_bytes > stranger_bytes_max) {
    log_malformed("a message of " + std::to_string(wrapping.raw_bytes) + " bytes before a login");
    return false;
  }
  return true;
}

// Returns the message inside an OP_COMPRESSED, or `whole` itself; nullopt: it is unusable.
std::optional<BytesView> Session::unpacked(BytesView whole, Bytes& memory, std::optional<Compressor>& compressor) {
  if (decode_header(whole).or_throw().opcode != OpCode::compressed) return whole;
  auto inside = unpack(whole);
  if (!inside) {
    log_malformed(inside.failure().message);
    return std::nullopt;
  }
  compressor = inside->compressor;
  memory = std::move(inside->message);
  counters_of(metrics_, *compressor).wire_in.add(static_cast<int64_t>(whole.size()));
  counters_of(metrics_, *compressor).raw_in.add(static_cast<int64_t>(memory.size()));
  return memory;
}

awaitable<bool> Session::handle(BytesView whole) {
  Bytes memory;
  std::optional<Compressor> compressor;
  HeldBytes held(services_.memory, 0);
  if (decode_header(whole).or_throw().opcode == OpCode::compressed) {
    auto wrapping = wrapping_of(whole);
    if (!wrapping) log_malformed(wrapping.failure().message);
    if (!wrapping || !may_unpack(*wrapping)) co_return false;
    if (!co_await take_memory(wrapping->raw_bytes, held.bytes)) co_return false;
  }
  const auto plain = unpacked(whole, memory, compressor);
  if (!plain) co_return false;
  metrics_.network.bytes_in.add(static_cast<int64_t>(plain->size()));
  metrics_.network.requests.add();
  Decoded decoded = decode(*plain);
  // Small documents in a sequence take more memory by their places than by their bytes.
  std::optional<HeldBytes> views;
  if (const size_t bytes = places_bytes(decoded); bytes > kept_bytes_max) views.emplace(services_.memory, bytes);
  bool goes_on = false;
  if (auto* malformed = std::get_if<Malformed>(&decoded))
    goes_on = co_await refuse(*malformed, compressor);
  else
    goes_on = co_await answer(std::get<Message>(decoded), compressor);
  co_return goes_on;
}

awaitable<bool> Session::refuse(const Malformed& malformed, std::optional<Compressor> compressor) {
  log_malformed(malformed.failure.message);
  if (!malformed.answerable) co_return false;
  metrics_.asserts.user.add();
  if (malformed.message.has(more_to_come)) co_return true;
  bson::Builder reply;
  reply.append("ok", 0.0)
      .append("errmsg", malformed.failure.message)
      .append("code", static_cast<int32_t>(malformed.failure.code));
  const auto document = reply.append("codeName", base::code_name(malformed.failure.code)).done();
  co_await write_reply(malformed.message, next_message_id(), malformed.message.request_id, 0, document, compressor);
  co_return !closed_;
}

awaitable<bool> Session::answer(const Message& message, std::optional<Compressor> compressor) {
  const bool exhaust = message.has(exhaust_allowed);
  Dispatcher::Reply reply = co_await run(message.request, exhaust);
  if (reply.close_connection) co_return false;
  if (message.has(more_to_come)) co_return !closed_;

  int32_t response_to = message.request_id;
  Request again;
  bson::Document body;
  for (;;) {
    std::optional<bson::Document> next;
    if (exhaust && !ending_) next = next_invocation(again.command.empty() ? message.request : again, reply);
    const int32_t reply_id = next_message_id();
    co_await write_reply(message, reply_id, response_to, next ? uint32_t{more_to_come} : 0, reply.body, compressor);
    reply_memory_ = std::move(reply.body).bytes();
    if (closed_) co_return false;
    if (!next) co_return true;
    // The stream takes turns with the other connections of the reactor.
    co_await asio::post(socket_.get_executor(), use_awaitable);
    // Each reply of a stream answers the one before.
    response_to = reply_id;
    body = std::move(*next);
    again = Request{message.request.command, message.request.db, body, {}};
    reply = co_await run(again, exhaust);
    if (closed_) co_return false;
  }
}

awaitable<Dispatcher::Reply> Session::run(const Request& request, bool exhaust) {
  const int64_t topology_ms = dispatcher_.await_topology_ms(client_, request);
  if (topology_ms > 0) co_await await_topology(topology_ms);
  metrics_.connections.active.add(1);
  Dispatcher::Reply reply;
  for (std::optional<OperationContext::Time> parked_until;;) {
    {
      Place place(Reactors::places());
      if (!place.take()) co_await await_place(place, use_of(request));
      Reactors::Running running([](void* session) { static_cast<Session*>(session)->watch_for_hangup(); }, this);
      reply = dispatcher_.run(client_, request, exhaust, std::move(reply_memory_), parked_until);
    }
    if (!reply.parked) break;
    reply_memory_ = std::move(reply.body).bytes();
    if (!ending_ && !closed_) co_await await_more(*reply.parked);
    // A connection that ends doesn't wait any more, but lets go of its cursor.
    parked_until = ending_ || closed_ ? base::now(services_.clock) : reply.parked->until;
  }
  metrics_.connections.active.add(-1);
  if (reply.await_durable && services_.when_durable) co_await await_durable();
  if (reply.acknowledgement && !reply.close_connection) co_await await_acknowledgement(reply);
  reply.acknowledgement.reset();  // the operation ends
  co_return reply;
}

std::shared_ptr<Pause> Session::begin_pause() {
  const base::MutexLock lock(mutex_);
  pause_ = std::make_shared<Pause>(socket_.get_executor());
  if (closed_ || ending_) pause_->end();
  return pause_;
}

void Session::end_pause() {
  const base::MutexLock lock(mutex_);
  pause_.reset();
}

// A wait that is soon over doesn't cost a call of the kernel that watches the socket.
awaitable<void> Session::wait(std::shared_ptr<Pause> pause, std::optional<OperationContext::Time> until) {
  const auto left = [&] {
    if (!until) return std::chrono::milliseconds::max();
    return std::max(std::chrono::milliseconds(0),
                    std::chrono::ceil<std::chrono::milliseconds>(*until - base::now(services_.clock)));
  };
  bool watched = false;
  auto step = look_interval_min;
  for (auto now_left = left(); now_left > std::chrono::milliseconds(0) && !pause->ended(); now_left = left()) {
    co_await pause->wait(std::min(now_left, step));
    if (pause->ended()) break;
    if (client_left()) closed_ = true;
    if (closed_) break;
    step = pause->asked_to_look() ? look_interval_min : std::min(2 * step, look_interval_max);
    if (watched) continue;
    watched = true;
    step = look_interval_max;
    socket_.async_wait(Socket::wait_read, [weak = std::weak_ptr(pause)](asio::error_code) {
      if (const auto waiting = weak.lock()) waiting->ask_to_look();
    });
  }
  asio::error_code ignored;
  if (watched) socket_.cancel(ignored);
}

// While too many commands are blocked, others wait here without a thread. A connection that ends runs its command all the same:
// it is interrupted at once, or lets go of what the command held.
awaitable<void> Session::await_place(Place& place, Places::Use use) {
  const auto pause = begin_pause();
  place.take(use, [weak = std::weak_ptr(pause)] {
    if (const auto waiting = weak.lock()) waiting->end();
  });
  if (!place.taken()) co_await wait(pause, std::nullopt);
  place.insist();
  end_pause();
}

bool Session::client_left() {
  char next;
  if (filled_ > message_bytes_) return false;
  return tls_ ? peer_left_tls() : ::recv(socket_.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

void Session::watch_for_hangup() {
  if (client_left()) services_.operations.kill_client(client_.id(), client_disconnect);
}

awaitable<void> Session::await_topology(int64_t ms) {
  const auto pause = begin_pause();
  metrics_.connections.awaiting_topology.add(1);
  const uint64_t subscription = services_.topology.on_change([pause] { pause->end(); });
  co_await wait(pause, base::now(services_.clock) + std::chrono::milliseconds(ms));
  services_.topology.forget(subscription);
  metrics_.connections.awaiting_topology.add(-1);
  end_pause();
}

awaitable<void> Session::await_more(const OperationContext::Parked& parked) {
  const auto pause = begin_pause();
  // The callback may be kept for longer than the connection lives.
  parked.when_more([weak = std::weak_ptr(pause)] {
    if (const auto waiting = weak.lock()) waiting->end();
  });
  co_await wait(pause, parked.until);
  end_pause();
}

awaitable<void> Session::await_durable() {
  auto start = [this](auto handler) {
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    services_.when_durable([shared] { asio::post(asio::get_associated_executor(*shared), [shared] { std::move (*shared)(); }); });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(std::move(start), use_awaitable);
}

// Waits until the set's members have the write that the reply reports, or can't have it any more, until the operation is killed
// or its time is over, or until the client leaves.
awaitable<void> Session::await_acknowledgement(Dispatcher::Reply& reply) {
  using Failure = std::optional<replication::WriteConcernFailure>;
  using std::chrono::milliseconds;
  struct Answer {
    base::Mutex mutex;
    bool there GUARDED_BY(mutex) = false;
    Failure failure GUARDED_BY(mutex);
  };
  const auto answer = std::make_shared<Answer>();
  const auto pause = std::make_shared<Pause>(socket_.get_executor());
  // The callbacks may be kept for longer than the connection lives.
  auto end = [weak = std::weak_ptr(pause)] {
    if (const auto waiting = weak.lock()) waiting->end();
  };
  auto done = [answer, end](Failure failure) {
    {
      const base::MutexLock lock(answer->mutex);
      answer->there = true;
      answer->failure = std::move(failure);
    }
    end();
  };
  const Dispatcher::Reply::Acknowledgement& asked = *reply.acknowledgement;
  OperationContext& op = *asked.operation;
  if (asked.read) {
    services_.replica_set->when_read_stands(asked.optime, std::move(done));
  } else {
    // The set need not remember the write for much longer than this connection waits for it.
    replication::WriteConcern concern = asked.concern;
    const auto remaining = op.remaining();
    const int64_t most_ms = remaining ? (*remaining + forgotten_after).count() : 0;
    if (most_ms > 0 && (concern.timeout_ms <= 0 || concern.timeout_ms > most_ms)) concern.timeout_ms = most_ms;
    services_.replica_set->when_acknowledged(asked.optime, concern, std::move(done));
  }
  op.when_killed(end);
  Failure failure;
  for (auto until = op.deadline();; until.reset()) {
    co_await wait(pause, until);
    {
      const base::MutexLock lock(answer->mutex);
      failure = answer->failure;
      if (answer->there) break;
    }
    if (closed_) co_return;
    try {
      op.check_interrupt();
    } catch (const base::OperationError& error) {
      failure = replication::WriteConcernFailure{error.code(), error.what()};
      break;
    }
  }
  if (!failure && reply.acknowledgement->led_term) {
    const replication::Standing now = services_.replica_set->standing();
    if (now.state != replication::MemberState::primary || now.term != *reply.acknowledgement->led_term) {
      failure =
          replication::WriteConcernFailure{base::ErrorCode::primary_stepped_down, "Primary stepped down while confirming a read"};
    }
  }
  if (!failure) co_return;
  if (!reply.acknowledgement->read)
    reply.body = with_write_concern_error(services_, reply.body, *reply.acknowledgement, *failure);
  else
    reply.body = failed_read(services_, *failure);
}

awaitable<void> Session::write_reply(const Message& message, int32_t reply_id, int32_t response_to, uint32_t flags,
                                     bson::DocumentView document, std::optional<Compressor> compressor) {
  if (closed_) co_return;
  // A request with a checksum gets a reply with one; compressed replies have none.
  if (message.has(checksum_present) && !compressor) flags |= checksum_present;
  const ReplyPrefix prefix = message.legacy ? legacy_prefix(reply_id, response_to, document.size())
                                            : msg_prefix(reply_id, response_to, flags, document.size());
  const size_t raw_bytes = prefix.size + document.size();
  metrics_.network.bytes_out.add(static_cast<int64_t>(raw_bytes));
  Bytes packed;
  std::array<char, 4> checksum{};
  std::array<asio::const_buffer, 3> parts;
  if (compressor) {
    Bytes whole(prefix.view());
    whole.append(document.bytes());
    packed = pack(whole, *compressor);
    counters_of(metrics_, *compressor).raw_out.add(static_cast<int64_t>(whole.size()));
    counters_of(metrics_, *compressor).wire_out.add(static_cast<int64_t>(packed.size()));
    parts[0] = asio::buffer(packed);
  } else {
    const bool summed = !message.legacy && (flags & checksum_present);
    if (summed) base::store_le(checksum.data(), crc32c(document.bytes(), crc32c(prefix.view())));
    parts = {asio::buffer(prefix.bytes.data(), prefix.size), asio::buffer(document.bytes().data(), document.size()),
             asio::buffer(checksum.data(), summed ? checksum.size() : 0)};
  }
  const size_t bytes = asio::buffer_size(parts);
  metrics_.network.physical_out.add(static_cast<int64_t>(bytes));
  asio::error_code error;
  if (tls_) {
    const HeldBytes held(services_.memory, bytes + packed.size());
    Bytes whole;
    whole.reserve(bytes);
    for (const auto& part : parts) whole.append(static_cast<const char*>(part.data()), part.size());
    co_await send_tls(whole, error);
    if (error) closed_ = true;
    co_return;
  }
  // Nearly always the socket takes all bytes at once; the coroutine waits only for the rest.
  const size_t written = socket_.write_some(parts, error);
  if (error == asio::error::would_block || (!error && written < bytes)) {
    // The reply is in memory already, until a slow reader has taken it.
    const HeldBytes held(services_.memory, document.size() + packed.size());
    size_t skip = error ? 0 : written;
    for (auto& part : parts) {
      const size_t here = std::min(skip, part.size());
      part += here;
      skip -= here;
    }
    co_await asio::async_write(socket_, parts, redirect_error(use_awaitable, error));
  }
  if (error) closed_ = true;
}

}  // namespace server::wire
