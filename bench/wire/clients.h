// Many connections that each send a request, wait for its reply and send the next: one thread for all, so that the
// client takes little of the machine, and the same for every server.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bson/document.h"

namespace bench::wire {

struct Lap {
  uint64_t operations = 0;
  double seconds = 0;
  double p50_us = 0, p99_us = 0, most_us = 0;
};

class Clients {
 public:
  // Opens `connections` to HOST:PORT. Throws std::runtime_error.
  Clients(const std::string& address, size_t connections);
  ~Clients();
  Clients(const Clients&) = delete;

  // The next request of a connection: a command with its $db.
  using NextRequest = std::function<bson::Document(size_t connection)>;

  // All connections at work until the time is over and each has its last reply. A reply that isn't ok throws
  // std::runtime_error with its text.
  Lap run(std::chrono::duration<double> time, const NextRequest& next);
  // One request on the first connection; its reply.
  bson::Document ask(bson::DocumentView command);

 private:
  struct Connection;
  void send(Connection& connection, bson::DocumentView command);
  bool receive(Connection& connection);  // false: not whole yet

  std::vector<std::unique_ptr<Connection>> connections_;
  int poll_ = -1;
};

}  // namespace bench::wire
