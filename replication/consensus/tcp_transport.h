// The transport over TCP: to each peer two connections of this member's own,
// one for what must not wait (heartbeats, votes, answers) and one for entries;
// from each peer the same.
//
// On a server, members call on the port of the clients: it hands their connections over (adopt), and nothing listens here.
//
// What waits for a peer goes into one frame. A connection that fails is made
// again after a pause that grows; meanwhile messages to that peer are lost, which
// consensus is made for.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "replication/consensus/socket.h"
#include "replication/consensus/transport.h"

namespace replication::consensus {

struct TcpOptions {
  std::string set_name;  // who isn't of this set is turned away
  MemberId self = 0;
  bool listen = true;  // false: connections come through adopt alone
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // 0: a free one
  bool compress = false;
  uint64_t queue_bytes_max = 64 << 20;  // to one peer, on one lane
  int connections_max = 256;            // inbound
};

// Thread-safe.
class TcpTransport final : public Transport {
 public:
  // Listens, where asked to. Throws OperationError: HostUnreachable.
  explicit TcpTransport(const TcpOptions& options);
  ~TcpTransport() override;

  // The receiver outlives this, or is taken away (nullptr) before it goes. Messages that nobody receives are lost. Returns once
  // no call is under way.
  void set_receiver(MessageReceiver* receiver);
  void set_peer(MemberId id, const std::string& host, uint16_t port);  // or its new address
  void remove_peer(MemberId id);
  uint16_t port() const { return port_; }  // 0: doesn't listen

  // Serves a connection that somebody else accepted: an open socket, from here on this object's, of which `already_read` was
  // taken off. Returns at once. Closed where there are too many, and once this is going.
  void adopt(int descriptor, Bytes already_read);

  void send(std::vector<Outgoing> messages) override;
  bool under_way(MemberId to) const override;
  int64_t lost() const;  // messages, since the start

 private:
  class Lane;
  struct Peer;
  struct Connection;

  void accept_loop();
  void welcome(Socket socket, Bytes already_read);
  void serve(Connection& connection);
  void deliver(MemberId from, BytesView message);
  void tell_unreachable(MemberId to);

  const TcpOptions options_;
  Socket listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;  // of peers_ and connections_
  std::map<MemberId, std::shared_ptr<Peer>> peers_;
  std::list<std::unique_ptr<Connection>> connections_;
  bool stopping_ = false;
  std::mutex receiver_mutex_;
  std::condition_variable receiver_idle_;
  MessageReceiver* receiver_ = nullptr;
  int receiving_ = 0;
  std::atomic<int64_t> lost_{0};
  std::thread acceptor_;
};

}  // namespace replication::consensus
