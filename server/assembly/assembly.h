// The parts of the server, plugged together. The one place that knows them all.
//
//   main -> Assembly (parts, commands, dispatch) -> wire::Listener (connections)
//
// Tests assemble a server without sockets and run commands in process.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "bson/document.h"
#include "server/core/options.h"

namespace server {

class Dispatcher;
struct Services;

// How a part of the server ends or renews the process around it. Called from any thread, also before the assembly is done.
struct ProcessRequests {
  std::function<void(int exit_code)> end = [](int) {};
  std::function<void(const std::string& why)> restart = [](const std::string&) {};
};

class Assembly {
 public:
  // Opens the data directory; with an empty dbpath there is no storage, and the
  // commands that need it can't be run. Throws OperationError where it can't be
  // opened or an option asks for what isn't there.
  explicit Assembly(Options options, ProcessRequests requests = {});
  ~Assembly();  // closes it; no connection may be left
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // Before the end, while clients are still served: the lead of a replica set goes to another member where it can.
  void hand_over();

  Services& services();
  Dispatcher& dispatcher();

  // Runs one command as a client of its own, on this thread; `$db` is added.
  // For tests and for the server's own use. The reply as a client would see it.
  bson::Document run(const std::string& db, bson::DocumentView command);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace server
