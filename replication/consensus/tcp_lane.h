// A TcpLane is one connection to another member, with the messages that wait for it. It is internal to the transport.
//
//   push --> queue --> one frame of all that waits --> connection, opened when there is none --> the other member
//
// A connection that fails takes with it what waits, and the next one is tried after a pause that grows.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/thread_pool.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/tls/contexts.h"
#include "replication/consensus/deadline.h"
#include "replication/consensus/frame.h"
#include "replication/consensus/transport.h"

namespace replication::consensus {

struct LaneOptions {
  Hello hello;  // names the lane and both members
  std::string host;
  uint16_t port = 0;
  bool compress = false;
  uint64_t queue_bytes_max = 0;
  const base::tls::Contexts* tls = nullptr;  // nullptr: the connection is plain
  LogIn log_in = {};                         // empty: nobody logs in
};

// This class is thread-safe. Work that waits keeps the lane alive until it is closed or the contexts stop.
class TcpLane : public std::enable_shared_from_this<TcpLane> {
 public:
  // The lane's work runs on `context`; names are looked up on `names`, since a lookup blocks, and so does a login. `lost` is
  // called on `context` with the number of messages that a failed connection took with it.
  TcpLane(asio::io_context& context, asio::thread_pool& names, LaneOptions options, std::function<void(size_t messages)> lost);

  // False: the queue is full, and the message is lost.
  bool push(Bytes message);
  // Messages wait, are being sent, or have not arrived yet.
  bool under_way() const;
  // Drops what waits, and the connection. Returns at once, and doesn't call `lost`.
  void close();

 private:
  using Endpoints = std::vector<asio::ip::tcp::endpoint>;

  bool is_closed() const;
  void send_next();
  Bytes take() REQUIRES(mutex_);
  void look_up();
  void connect(Endpoints left);
  void begin_tls();
  void shake_hands();
  void report_tls(const std::string& why);
  void log_in();
  void greet();
  void write(size_t from);
  void write_tls(size_t from);
  void written();
  void fail();
  void drop_connection();

  const LaneOptions options_;
  const std::function<void(size_t)> lost_;
  const asio::any_io_executor executor_;  // one thing at a time
  asio::thread_pool& names_;

  // These belong to the executor.
  asio::ip::tcp::socket socket_;
  std::unique_ptr<base::tls::Stream> tls_;  // of this connection
  std::chrono::steady_clock::time_point connected_;
  bool tls_failed_ = false;    // and the log says so
  bool login_failed_ = false;  // the same
  bool logging_in_ = false;    // another thread works on the connection
  Deadline deadline_;
  std::unique_ptr<FrameCompressor> compressor_;  // of this connection
  Bytes payload_, frame_;
  std::chrono::milliseconds pause_;

  mutable base::Mutex mutex_;
  int descriptor_ GUARDED_BY(mutex_) = -1;  // of the connected socket, which isn't closed without the mutex
  std::deque<Bytes> queue_ GUARDED_BY(mutex_);
  uint64_t queue_bytes_ GUARDED_BY(mutex_) = 0;
  size_t sending_ GUARDED_BY(mutex_) = 0;  // messages that were taken off the queue
  bool busy_ GUARDED_BY(mutex_) = false;   // send_next will be called
  bool closed_ GUARDED_BY(mutex_) = false;
};

}  // namespace replication::consensus
