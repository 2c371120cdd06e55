// Dispatch turns a request into its reply. It is the one place where an
// OperationError becomes {ok: 0, errmsg, code, codeName}.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "replication/coordinator.h"
#include "server/core/command.h"
#include "server/core/operation.h"

namespace server {

class Client;
class TransactionHold;
struct CommandFault;

// This class is thread-safe.
class Dispatcher {
 public:
  explicit Dispatcher(Services& services) : services_(services) {}

  // Returns how many milliseconds the connection should wait before it runs the request, with no thread waiting; it waits no
  // longer once the topology changes. Never throws: run() reports what is wrong with the request.
  int64_t await_topology_ms(const Client& client, const Request& request) const;

  struct Reply {
    bson::Document body;
    bool ok = false;
    bool await_durable = false;  // the connection answers only after services.when_durable
    // On a replica set the connection answers only when this is acknowledged, or reports why it isn't (set_rules.h).
    struct Acknowledgement {
      // It has run, and rests while the connection waits, so that it can be found and killed. The wait ends with its time, too.
      std::unique_ptr<OperationContext> operation;
      replication::OpTime optime;
      replication::WriteConcern concern;
      bool retryable = false;
      bool read = false;                // if it isn't acknowledged, the reply is an error instead
      std::optional<int64_t> led_term;  // the member that read must still lead in this term
    };
    std::optional<Acknowledgement> acknowledgement;
    bool close_connection = false;  // the connection closes without an answer
    std::optional<bson::Document> next_invocation;
    std::optional<OperationContext::Parked> parked;  // the body says nothing; the connection waits and runs the request again
  };
  // The reply uses `memory` again. Blocks as long as the command does; never throws. `parked_until`: the request was parked, and
  // runs again. The client and the request must live until the reply's acknowledgement is gone.
  Reply run(Client& client, const Request& request, bool exhaust_allowed, bson::Bytes memory = {},
            std::optional<OperationContext::Time> parked_until = std::nullopt);

 private:
  // `began` is set once everything is checked and the command itself runs.
  // `transaction` is set once the operation has found its client's transaction.
  void run_checked(OperationContext& op, Command* command, CommandFault& fault, bool& began,
                   std::unique_ptr<TransactionHold>& transaction, bson::Builder& reply);
  void log_slow(const OperationContext& op, const Command* command, const Reply& reply, int64_t elapsed_ms, bool wanted) const;

  Services& services_;
};

}  // namespace server
