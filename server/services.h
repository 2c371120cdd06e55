// What commands may use: the parts of the server, lent to every operation.
//
// The assembly owns the parts and fills this in before the first connection is
// accepted. References are always there; a pointer is null only in a server
// assembled without that part (tests of the wire).
#pragma once

#include <functional>

namespace base {
class Clock;
}
namespace storage {
class Engine;
class Catalog;
}

namespace server {

struct Options;
class ClientRegistry;
class CommandRegistry;
class Metrics;
class OperationContext;
class OperationRegistry;
class ServerParameters;
class StatusSections;
class Topology;

struct Services {
  const Options& options;
  base::Clock& clock;
  ServerParameters& parameters;
  StatusSections& status;  // serverStatus
  Metrics& metrics;
  OperationRegistry& operations;
  CommandRegistry& commands;
  ClientRegistry& clients;
  Topology& topology;

  storage::Engine* engine = nullptr;

  // Returns when everything this operation committed would survive a power
  // loss. Called by dispatch before the reply when the client asked for
  // j: true; may block, so such commands run on the worker pool.
  std::function<void(OperationContext&)> await_durable;

  // Asks the process to end; returns at once.
  std::function<void(int exit_code)> request_shutdown;
};

}  // namespace server
