// A peer channel sends commands over a connection that is open, and waits for their replies.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/tls/stream.h"
#include "bson/document.h"

namespace server::peers {

// One thread uses it. It owns neither the socket nor the TLS.
class PeerChannel {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `tls`: nullptr for a plain connection. `interrupt`: a descriptor that becomes readable to end a call; -1: none does.
  PeerChannel(std::string address, int socket, base::tls::Stream* tls, int interrupt, uint32_t reply_bytes_max)
      : address_(std::move(address)), socket_(socket), tls_(tls), interrupt_(interrupt), reply_bytes_max_(reply_bytes_max) {}

  // Runs `command` in `db` ($db is added) and returns its reply as it is. Throws as PeerClient::run does when the connection
  // fails; then nothing more can be done with it.
  bson::Document call(const std::string& db, bson::DocumentView command, Time deadline);
  // Waits for `events` of poll(), or for the connection's end, which the next call on the socket reports.
  void await(short events, Time deadline, const char* doing) const;
  void shake_hands(Time deadline) const;

 private:
  void send_all(base::BytesView bytes, Time deadline);
  void receive(base::Bytes& into, size_t bytes, Time deadline);

  const std::string address_;
  const int socket_;
  base::tls::Stream* const tls_;
  const int interrupt_;
  const uint32_t reply_bytes_max_;
  int32_t last_request_ = 0;
};

// Returns the reply. Throws the server's own code and message if it has ok: 0.
bson::Document checked_reply(bson::Document reply, const std::string& address);

}  // namespace server::peers
