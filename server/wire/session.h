// A session is one connection, as a coroutine of its reactor (reactors.h). It is
// internal to wire/, where these two headers alone show Asio.
#pragma once

#include <asio/awaitable.hpp>
#include <asio/buffer.hpp>
#include <asio/generic/stream_protocol.hpp>
#include <atomic>

#include "base/mutex.h"
#include "base/tls/stream.h"
#include "server/core/client.h"
#include "server/dispatch/dispatch.h"
#include "server/wire/compression.h"
#include "server/wire/places.h"

namespace server {
class Metrics;
struct Services;
}  // namespace server

namespace server::wire {

class Pause;

class Session : public std::enable_shared_from_this<Session> {
 public:
  using Socket = asio::generic::stream_protocol::socket;

  Session(Services& services, Dispatcher& dispatcher, Socket socket, ClientId id, std::string remote, std::string local,
          bool unix_socket);
  ~Session();

  // Runs until the client closes the connection, a message can't be understood, or close() is called. A connection that turns out
  // to be a member's is handed over; with `members_only` any other is closed at its first bytes.
  asio::awaitable<void> serve(bool members_only = false);
  bool was_handed_over() const { return handed_over_; }

  // May be called from any thread. `end` closes the connection once the current reply is sent.
  void close();
  void end();

  const Client& client() const { return client_; }

 private:
  asio::awaitable<bool> read_message();  // false: the connection is over
  // session_tls.cpp has these:
  asio::awaitable<bool> begin_tls();  // if the connection begins as TLS; false: it is over
  enum class Beginning { tls, plain, over };
  asio::awaitable<Beginning> await_beginning();
  asio::awaitable<bool> shake_hands();
  asio::awaitable<bool> await_socket(base::tls::Need need);
  asio::awaitable<size_t> receive_tls(asio::mutable_buffer room, asio::error_code& error);
  asio::awaitable<void> send_tls(base::BytesView bytes, asio::error_code& error);
  bool peer_left_tls();
  enum class Start { goes_on, http, over };
  bool is_member() const;                            // it has logged in as one
  Start judge_start(std::optional<Header>& header);  // of the next message, as far as it has come
  asio::awaitable<void> answer_http();
  void hand_over();
  asio::awaitable<bool> handle(BytesView whole);  // `whole` is a message of any opcode
  asio::awaitable<bool> answer(const Message& message, std::optional<Compressor> compressor);
  asio::awaitable<Dispatcher::Reply> run(const Request& request, bool exhaust);
  asio::awaitable<void> await_place(Place& place, Places::Use use);
  bool client_left();       // it closed the connection; only seen if it sent nothing more
  void watch_for_hangup();  // called while a command runs, on another thread
  // Makes a pause that close() and end() end, and lets go of it.
  std::shared_ptr<Pause> begin_pause();
  void end_pause();
  // Waits, without a thread, until the pause is ended, until it is so late (nullopt: for ever), or until the client leaves, which
  // sets closed_.
  asio::awaitable<void> wait(std::shared_ptr<Pause> pause, std::optional<OperationContext::Time> until);
  asio::awaitable<void> await_topology(int64_t ms);
  asio::awaitable<void> await_more(const OperationContext::Parked& parked);
  asio::awaitable<void> await_durable();
  asio::awaitable<void> await_acknowledgement(Dispatcher::Reply& reply);
  asio::awaitable<void> write_reply(const Message& message, int32_t reply_id, int32_t response_to, uint32_t flags,
                                    bson::DocumentView document, std::optional<Compressor> compressor);
  asio::awaitable<bool> refuse(const Malformed& malformed, std::optional<Compressor> compressor);
  bool may_unpack(const Wrapping& wrapping);
  std::optional<BytesView> unpacked(BytesView whole, Bytes& memory, std::optional<Compressor>& compressor);
  bool is_stranger() const;  // access control is on, and the client hasn't logged in
  void log_malformed(std::string_view why);
  void drop_message();  // makes room for the next one
  // Takes the memory of a message of so many bytes from the server's pool, and waits for it; `taken` says how much was taken for
  // it so far. Returns false if there is none for long, or the connection ends.
  asio::awaitable<bool> take_memory(size_t bytes, size_t& taken);
  void give_back_memory();
  void finish();  // the coroutine's last action: it releases the socket

  Services& services_;
  Dispatcher& dispatcher_;
  Metrics& metrics_;
  Socket socket_;
  std::unique_ptr<base::tls::Stream> tls_;  // null: the connection is plain
  Client client_;

  // `in_` has the received bytes that aren't handled yet: [0, filled_); the first message_bytes_ of them are the message being
  // handled.
  Bytes in_;
  size_t filled_ = 0;
  size_t message_bytes_ = 0;
  Bytes reply_memory_;
  size_t taken_ = 0;       // from the server's pool
  bool undecided_ = true;  // it isn't known yet whether this is a client or a member
  bool members_only_ = false;
  bool handed_over_ = false;
  std::atomic<bool> closed_{false};
  std::atomic<bool> ending_{false};
  std::atomic<bool> answering_{false};

  base::Mutex mutex_;                                // it also keeps the socket open while another thread shuts it down
  bool finished_ GUARDED_BY(mutex_) = false;         // the socket is closed, or belongs to another owner
  std::shared_ptr<Pause> pause_ GUARDED_BY(mutex_);  // the session's current wait, so that close() can end it
};

}  // namespace server::wire
