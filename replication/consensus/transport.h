// A transport carries messages of consensus between members. A message may be lost, come twice or out of order; it never comes
// damaged, and never from somebody else.
#pragma once

#include <functional>

#include "replication/consensus/raft_core.h"

namespace base::tls {
class Stream;
}

namespace replication::consensus {

// Logs in on an open connection, whose TLS is nullptr if it is plain. It blocks for some seconds at most, and throws
// OperationError if the other side doesn't take the login. Thread-safe.
using LogIn = std::function<void(int descriptor, base::tls::Stream* tls)>;

// Called by the transport, from any of its threads.
class MessageReceiver {
 public:
  virtual ~MessageReceiver() = default;
  virtual void received(MemberId from, BytesView message) = 0;
  virtual void unreachable(MemberId to) = 0;  // messages to it were lost
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Thread-safe, and returns at once: what can't be sent or queued is lost.
  virtual void send(std::vector<Outgoing> messages) = 0;
  // Bulk messages to it have not arrived yet; if one is lost, `unreachable` tells. False where that isn't known. Thread-safe;
  // called with consensus locked: it may wait for nobody who calls back.
  virtual bool under_way(MemberId) const { return false; }
};

}  // namespace replication::consensus
