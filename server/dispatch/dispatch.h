// Dispatch: from a request to its reply. The one place where an OperationError
// becomes {ok: 0, errmsg, code, codeName}.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "replication/coordinator.h"
#include "server/core/command.h"

namespace server {

class Client;
struct CommandFault;

// Thread-safe.
class Dispatcher {
 public:
  explicit Dispatcher(Services& services) : services_(services) {}

  // How long the connection should wait before it runs the request, or until the topology changes; no thread waits meanwhile.
  // Milliseconds. Never throws: what is wrong with the request comes out in run().
  int64_t await_topology_ms(const Client& client, const Request& request) const;

  struct Reply {
    bson::Document body;
    bool ok = false;
    bool await_durable = false;  // answer only after services.when_durable
    // On a replica set: answer only when that is acknowledged, or with why it is not (set_rules.h).
    struct Acknowledgement {
      replication::OpTime optime;
      replication::WriteConcern concern;
      bool retryable = false;
      bool read = false;                // it stands, or there is no answer
      std::optional<int64_t> led_term;  // and the member that read still leads, in this term
    };
    std::optional<Acknowledgement> acknowledgement;
    bool close_connection = false;  // without an answer
    std::optional<bson::Document> next_invocation;
  };
  // `memory` is reused for the reply. Blocks as long as the command does; never throws.
  Reply run(Client& client, const Request& request, bool exhaust_allowed, bson::Bytes memory = {});

 private:
  // `began` is set once everything was checked and the command itself runs.
  void run_checked(OperationContext& op, Command* command, CommandFault& fault, bool& began, bson::Builder& reply);
  void log_slow(const OperationContext& op, const Command* command, const Reply& reply, int64_t elapsed_ms, bool wanted) const;

  Services& services_;
};

}  // namespace server
