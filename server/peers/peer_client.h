// A peer client is a connection to another member, for commands: blocking, one call at a time.
//
//   PeerClient peer("db2.example:27017");
//   bson::Document status = peer.run("admin", bson::json("{replSetGetStatus: 1}"));
//
// It connects when it has to. A connection on which anything went wrong is closed, and the next call makes another; then it is
// unknown whether the failed command was run.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/host_port.h"
#include "base/tls/contexts.h"
#include "bson/document.h"
#include "server/peers/member_login.h"

namespace server::peers {

struct PeerOptions {
  int64_t connect_ms = 5000;
  int64_t call_ms = 10'000;                  // from the command's first byte to its reply's last
  uint32_t reply_bytes_max = 48'000'000;     // of a whole message
  const base::tls::Contexts* tls = nullptr;  // nullptr: the connection is plain
  const MemberLogin* login = nullptr;        // nullptr: the connection doesn't log in
};

// One thread uses it; only interrupt() may come from any.
class PeerClient {
 public:
  using Options = PeerOptions;

  // `address` has the form that a set's configuration uses. Throws FailedToParse. Doesn't connect yet.
  explicit PeerClient(std::string address, const Options& options = {});
  ~PeerClient();
  PeerClient(const PeerClient&) = delete;
  PeerClient& operator=(const PeerClient&) = delete;

  const std::string& address() const { return address_; }

  // Runs `command` in `db` ($db is added) and returns its reply. Throws OperationError: the server's own code and message if the
  // reply has ok: 0; HostUnreachable; NetworkTimeout; ProtocolError (the bytes are no reply, or none to this command);
  // ShutdownInProgress once interrupted. `call_ms` 0: the options' value.
  bson::Document run(const std::string& db, bson::DocumentView command, int64_t call_ms = 0);
  // Does the same, but returns a reply with ok: 0 as it is.
  bson::Document run_raw(const std::string& db, bson::DocumentView command, int64_t call_ms = 0);

  void close();
  bool connected() const { return socket_ >= 0; }
  int64_t connections_made() const { return connections_made_; }

  // Ends the call in progress and fails every later one. Doesn't end the resolving of a name, which has the resolver's own
  // bounds.
  void interrupt();

 private:
  using Time = std::chrono::steady_clock::time_point;

  void ensure_connected();
  void begin(Time deadline);
  bool gone() const;

  const std::string address_;
  const base::HostPort where_;
  const Options options_;
  int socket_ = -1;
  std::unique_ptr<base::tls::Stream> tls_;  // of the connection
  int interrupt_ = -1;                      // readable once interrupted
  std::optional<PeerChannel> channel_;      // over the connection
  int64_t connections_made_ = 0;
};

}  // namespace server::peers
