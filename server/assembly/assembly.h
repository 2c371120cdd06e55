// The assembly plugs the parts of the server together. It is the one place that
// knows them all.
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

// A part of the server ends or restarts the process through these. Any thread may call them, even before the assembly is done.
struct ProcessRequests {
  std::function<void(int exit_code)> end = [](int) {};
  std::function<void(const std::string& why)> restart = [](const std::string&) {};
};

class Assembly {
 public:
  // Opens the data directory; with an empty dbpath there is no storage, and commands that need it can't be run. Throws
  // OperationError if the directory can't be opened or an option asks for something that isn't available.
  explicit Assembly(Options options, ProcessRequests requests = {});
  ~Assembly();  // closes it; no connection may be left
  Assembly(const Assembly&) = delete;
  Assembly& operator=(const Assembly&) = delete;

  // Called before the end, while clients are still served: hands the lead of a replica set to another member if one can take it.
  void hand_over();

  Services& services();
  Dispatcher& dispatcher();

  // Runs one command as a client of its own, on this thread, and returns the reply as a client would see it; `$db` is added.
  // Tests and the server itself use it.
  bson::Document run(const std::string& db, bson::DocumentView command);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace server
