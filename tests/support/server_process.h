// A real server, started as a user would start it, on a port and a data
// directory of its own; gone with the object.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tests {

class ServerProcess {
 public:
  // `program` is the palimpsestd to run. Waits until it listens; throws
  // std::runtime_error with the tail of its log where it does not.
  ServerProcess(std::string program, std::vector<std::string> arguments = {});
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  std::string uri() const { return "mongodb://127.0.0.1:" + std::to_string(port_) + "/"; }

 private:
  std::string directory_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace tests
