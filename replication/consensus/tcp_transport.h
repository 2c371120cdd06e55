// This is the transport over TCP. The member opens two connections to each peer, one for messages that must not wait (heartbeats,
// votes, answers) and one for entries, and each peer opens two to it.
//
// On a server, members call on the port of the clients: it hands their connections over (adopt), and nothing listens here.
//
// All messages that wait for a peer go into one frame. A connection that fails is opened again after a pause that grows;
// meanwhile messages to that peer are lost, which consensus is made for.
//
//   control lanes, hellos     one thread: no frame of entries is ever ahead of a heartbeat
//   bulk lanes                a few threads: they compress, send, decompress and deliver entries
//   names                     a few threads that look up hosts, each of which may take seconds
#pragma once

#include <memory>

#include "base/tls/contexts.h"
#include "replication/consensus/transport.h"

namespace replication::consensus {

struct TcpOptions {
  std::string set_name;  // members of other sets are turned away
  MemberId self = 0;
  bool listen = true;  // false: connections come through adopt alone
  std::string host = "127.0.0.1";
  uint16_t port = 0;  // 0: a free one
  bool compress = false;
  uint64_t queue_bytes_max = 64 << 20;       // to one peer, on one lane
  int connections_max = 256;                 // inbound
  const base::tls::Contexts* tls = nullptr;  // for connections to others; nullptr: they are plain
  LogIn log_in = {};                         // on such a connection, before the first frame; empty: nobody logs in
};

// This class is thread-safe.
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
  uint16_t port() const;  // 0: doesn't listen

  // Serves a connection that somebody else accepted: an open socket, from here on this object's, its TLS (nullptr: it is plain),
  // and `already_read`, which was taken off it. Returns at once. Closed where there are too many, and once this is going.
  void adopt(int descriptor, std::unique_ptr<base::tls::Stream> tls, Bytes already_read);

  void send(std::vector<Outgoing> messages) override;
  bool under_way(MemberId to) const override;
  int64_t lost() const;  // messages, since the start

 private:
  class Network;
  const std::unique_ptr<Network> network_;
};

}  // namespace replication::consensus
