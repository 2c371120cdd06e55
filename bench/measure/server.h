// This starts a palimpsestd as a user would start it. The server is gone with the object, or when this process is interrupted.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "bench/measure/scratch.h"

namespace bench {

// A place says where it runs: the command that stands before its own, and the address it listens on.
struct Place {
  std::vector<std::string> command;
  std::string address = "127.0.0.1";
};

class Server {
 public:
  // Waits until it listens; throws std::runtime_error with the end of its log where it doesn't.
  Server(const std::string& program, const std::vector<std::string>& arguments, const std::string& scratch, Place place = {});
  ~Server();
  Server(const Server&) = delete;

  std::string host() const { return place_.address + ":" + std::to_string(port_); }
  std::string uri() const { return "mongodb://" + host() + "/"; }
  pid_t pid() const { return pid_; }
  // Returns the CPU time so far, of the process and of its threads with this name, at most 15 characters.
  double cpu_seconds() const;
  double thread_cpu_seconds(const std::string& name) const;
  // Waits until it does nothing in the background any more, a minute at most.
  void wait_until_idle() const;
  // Ends it as a crash would.
  void kill();

 private:
  void stop();

  Scratch folder_;
  Place place_;
  int port_ = 0;
  pid_t pid_ = -1;
  std::optional<AtInterrupt> at_interrupt_;
};

}  // namespace bench
